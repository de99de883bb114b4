"""The trace of made_trace.py as nsys export --type sqlite writes it: the tables and columns of schema 3.24."""
import os
import sqlite3

from made_trace import BASE_NS

GLOBAL = 1 << 48 # of the machine; a process and a thread have 24 bits each

PLACE = "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, " \
        "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER"
TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "CUPTI_ACTIVITY_KIND_KERNEL": PLACE + ", demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
        "launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER "
        "NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
        "staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, graphNodeId INTEGER, graphId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": PLACE + ", bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, "
        "srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": PLACE + ", value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid "
        "INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": PLACE + ", deprecatedSyncType INTEGER, syncType INTEGER NOT NULL, eventId INTEGER "
        "NOT NULL, eventSyncId INTEGER",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId "
        "INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL, eventSyncId INTEGER",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color "
        "INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER",
    "OSRT_API": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER "
        "NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL",
    "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
    "DIAGNOSTIC_EVENT": "timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, severity INTEGER "
        "NOT NULL, text TEXT NOT NULL, globalPid INTEGER",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor "
        "INTEGER, computeMinor INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, maxThreadsPerBlock INTEGER, "
        "maxRegistersPerBlock INTEGER, maxRegistersPerSm INTEGER, maxShmemPerBlock INTEGER, maxShmemPerSm INTEGER",
}
COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8}
MEMORY = {"Pageable": 0, "Pinned": 1, "Device": 2}


class MadeNsys:
    """`tables`: those that the file has; None: all. `columns`: of a table, those that it has."""

    def __init__(self, path, tables=None, columns=None, pid=7):
        if os.path.exists(path):
            os.remove(path)
        self.path, self.pid, self.strings = path, pid, {}
        self.file = sqlite3.connect(path)
        self.columns = {}
        for name, text in TABLES.items():
            if tables is not None and name not in tables:
                continue
            wanted = (columns or {}).get(name)
            parts = [part for part in text.split(", ") if not wanted or part.split()[0] in wanted]
            self.columns[name] = [part.split()[0] for part in parts]
            self.file.execute(f'CREATE TABLE {name} ({", ".join(parts)})')

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.add("StringIds", id=self.strings[text], value=text)
        return self.strings[text]

    def add(self, table, **values):
        """A row; what the table has no column for is left out, and what is not given is NULL or 0."""
        if table not in self.columns:
            return
        given = {name: value for name, value in values.items() if name in self.columns[table]}
        for part in TABLES[table].split(", "):
            name = part.split()[0]
            if "NOT NULL" in part and name in self.columns[table]:
                given.setdefault(name, 0)
        names = ", ".join(given)
        self.file.execute(f'INSERT INTO {table} ({names}) VALUES ({", ".join("?" * len(given))})', list(given.values()))

    def thread(self, tid=None):
        return GLOBAL | self.pid << 24 | (self.pid if tid is None else tid)

    def place(self, event):
        start = round(event["ts"] * 1000)
        return {"start": start, "end": start + round(event["dur"] * 1000), "globalTid": self.thread(event["tid"]),
                "globalPid": GLOBAL | self.pid << 24, "correlationId": event["args"].get("correlation"),
                "deviceId": event["args"].get("device", 0), "contextId": event["args"].get("context", 0),
                "streamId": event["args"].get("stream", 0)}

    def kernel(self, event):
        args, name = event["args"], self.string(event["name"])
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", **self.place(event), demangledName=name, shortName=name,
                 registersPerThread=args["registers per thread"], dynamicSharedMemory=args["shared memory"],
                 **dict(zip(("gridX", "gridY", "gridZ"), args["grid"])), **dict(zip(("blockX", "blockY", "blockZ"), args["block"])))

    def copy(self, event):
        way, ends = event["name"].removeprefix("Memcpy ").split(" ", 1)
        source, target = ends.strip("()").split(" -> ")
        self.add("CUPTI_ACTIVITY_KIND_MEMCPY", **self.place(event), bytes=event["args"]["bytes"], copyKind=COPY_KINDS[way],
                 srcKind=MEMORY[source], dstKind=MEMORY[target])

    def range(self, event, number):
        operation = event["cat"] == "cpu_op"
        self.add("NVTX_EVENTS", **self.place(event), eventType=59,
                 **({"text": f'{event["name"]}, op_id = {number}'} if operation else {"textId": self.string(event["name"])}))

    def take(self, made):
        """Every event of a MadeTrace."""
        device = made.head["deviceProperties"][0]
        self.add("TARGET_INFO_GPU", id=0, name=device["name"], totalMemory=device["totalGlobalMem"], smCount=device["numSms"],
                 computeMajor=device["computeMajor"], computeMinor=device["computeMinor"], threadsPerWarp=32, maxWarpsPerSm=64,
                 maxThreadsPerBlock=1024)
        self.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=self.pid)
        self.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=BASE_NS)
        self.add("META_DATA_EXPORT", name="EXPORT_PRODUCT_VERSION", value="2025.5.2.266")
        self.add("ThreadNames", nameId=self.string("python"), globalTid=self.thread())
        for number, event in enumerate(made.events):
            if event["cat"] == "kernel":
                self.kernel(event)
            elif event["cat"] == "gpu_memcpy":
                self.copy(event)
            elif event["cat"] == "cuda_runtime":
                self.add("CUPTI_ACTIVITY_KIND_RUNTIME", **self.place(event), nameId=self.string(event["name"] + "_v7000"))
            else:
                self.range(event, number)
        return self

    def wait(self, name, start_us, length_us, tid=None):
        """A call of the C library that blocks."""
        self.add("OSRT_API", start=round(start_us * 1000), end=round((start_us + length_us) * 1000), eventClass=27,
                 globalTid=self.thread(tid), nameId=self.string(name))

    def write(self):
        self.file.commit()
        self.file.close()
        return self.path
