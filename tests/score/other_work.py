"""Whether other work of the machine may have spoilt what a test timed."""
import os
import time

OTHER_WORK = 0.1  # share of the machine's processors from which a corpus may have been spoilt by others


class Machine:
    """What the processors do from here on, but for this test and its children."""

    def __init__(self):
        self.began, self.busy, self.own = time.monotonic(), self.busy_seconds(), self.own_seconds()

    @staticmethod
    def busy_seconds():
        with open("/proc/stat", encoding="utf-8") as file:
            user, nice, system, _idle, _wait, *interrupts_and_steal = map(int, file.readline().split()[1:9])
        return (user + nice + system + sum(interrupts_and_steal)) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def own_seconds():
        return sum(os.times()[:4])

    def others(self):
        """Share of all processors."""
        busy, own = self.busy_seconds() - self.busy, self.own_seconds() - self.own
        return (busy - own) / (time.monotonic() - self.began) / os.cpu_count()
