/*
 * The replay: what the steps would have taken if something were gone. One pass over what the host did, in the order in
 * which it began, with one clock per lane of threads, one queue per stream and the waits between them.
 *
 * A program is a list of items. An item is a stretch of the host's time, a call or what lies between two, and the
 * device records that its call launched. The replay knows what a record waited for before it started: its launch, the
 * record before it on its stream, or records of other streams. So a stretch that is taken away moves what depended on
 * it, and nothing else.
 *
 * Times are nanoseconds. Not modelled: a full launch queue, kernels that slow each other, and collectives, whose
 * duration holds the wait for other ranks. replay_steps allocates nothing. [one thread at a time for a scratch]
 */
#ifndef CORE_LEDGER_REPLAY_H
#define CORE_LEDGER_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_NONE UINT32_MAX

/* Whose an item or a record is: bits, so that a variant names any of them. */
typedef uint32_t replay_owners;
enum {
  REPLAY_LAUNCH = 1u << 0,      /* launching and what lies between launches */
  REPLAY_INPUT = 1u << 1,       /* waiting for a batch */
  REPLAY_SYNC = 1u << 2,        /* the program's blocking calls */
  REPLAY_MEASUREMENT = 1u << 3, /* the loop's own synchronisations: never taken away */
  REPLAY_ALLOCATOR = 1u << 4,
  REPLAY_PAGEABLE = 1u << 5, /* copies from pageable host memory */
  REPLAY_PINNED = 1u << 6,   /* copies from page-locked host memory; records only */
  REPLAY_HOST = 1u << 7,     /* computing between calls */
  REPLAY_CHAIN = 1u << 8,    /* kernels that hand over from stream to stream, and launching them */
  REPLAY_LAUNCHES = REPLAY_LAUNCH | REPLAY_CHAIN
};

/* Flags of an item. */
enum {
  REPLAY_BLOCKS = 1,     /* waits for a record, or takes its own time where its `wait` is REPLAY_NONE */
  REPLAY_SCALED = 2,     /* shorter without the recorder */
  REPLAY_LATER_PASS = 4, /* of the second or a later pass through the model; of a record too */
  REPLAY_QUIET = 8,      /* no call */
  REPLAY_DRAINS = 64,    /* REPLAY_BLOCKS: for all records launched before, not for one alone */
  REPLAY_OUTSIDE = 128   /* a captured graph does not hold it */
};
/* Flags of a record. */
enum {
  REPLAY_BY_CALL = 16, /* started during a long call or right after it */
  REPLAY_DELAYED = 32, /* started late though nothing that is known held it up */
  REPLAY_INSIDE = 256  /* within a graph: without the recorder, `inside` of its recording_ns is left */
};

/* There are many items: what only those that wait have lies in a list of its own. */
typedef struct replay_item {
  int64_t duration_ns;
  union {
    int64_t begin_ns; /* while a timeline is made: when it begins */
    struct {
      uint32_t record_first, record_count;
    };
  };
  uint32_t wait;  /* REPLAY_BLOCKS: into `waits`, or REPLAY_NONE; while a timeline is made: its call */
  uint32_t step;  /* never falls within a lane */
  uint16_t owner; /* one of replay_owners */
  uint16_t lane;
  uint16_t flags;
  uint16_t pauses; /* whose pauses let the caches go cold before it, or 0: with none of them it takes half as long */
} replay_item;

/* What an item waits for. */
typedef struct replay_wait {
  int64_t own_ns;   /* what it takes even if what it waits for is done */
  int64_t tail_ns;  /* from the end of the awaited record to its own */
  uint32_t awaited; /* record, launched before the item */
} replay_wait;

/* 64 bytes: each replay reads them all. */
typedef struct replay_record {
  int64_t duration_ns;
  int64_t latency_ns;   /* from the start of its call, if nothing else holds it up */
  int64_t gap_ns;       /* after the record before it on its stream */
  int64_t edge_ns;      /* after the records that it waits for */
  int32_t fixed_ns;     /* of the duration, what goes where launching costs nothing */
  int32_t fixed_gap_ns; /* of gap_ns, too */
  int32_t recording_ns; /* of gap_ns, what is not the device's own: in part the recorder's, see `keep` */
  uint32_t stream;
  uint32_t edge_first, edge_count; /* into `edges` */
  replay_owners owners;            /* with any of them it goes */
  uint16_t flags;
} replay_record;

/* How long a record takes where all passes are one. Behind the last pass it takes as long as it did. */
typedef struct replay_merged {
  int64_t likely_ns;
  int64_t longest_ns; /* if it takes as many times as long however much room it leaves */
} replay_merged;

typedef struct replay_edge {
  uint32_t record; /* that is waited for: launched before the one that waits */
  bool apart;      /* of two kernels, or a set or a copy within the device behind one: gone where streams run apart */
} replay_edge;

typedef struct replay {
  const replay_item *items;
  const replay_record *records;
  const replay_merged *merged; /* by record; NULL: there is one pass */
  const replay_edge *edges;
  const replay_wait *waits;
  uint64_t item_count;
  uint32_t record_count, stream_count, lane_count, step_count;
  int64_t start_ns;           /* all lanes begin here */
  int64_t latency_ns, gap_ns; /* the usual ones, for REPLAY_DELAYED */
  double inside;              /* 0..1, for REPLAY_INSIDE where `keep` of a variant is below 1 */
  /* scratch of replay_steps, made by replay_open */
  int64_t *ends;      /* by record */
  int64_t *available; /* by stream */
  int64_t *clocks;    /* by lane */
} replay;

/* What is different from what happened. All zero but keep = 1: nothing. */
typedef struct replay_variant {
  replay_owners without; /* their time and records are gone */
  replay_owners graph;   /* launched at no cost: their time is gone, and of their records fixed_ns and fixed_gap_ns */
  bool same_kernels; /* with `graph`: as one captured graph, whose kernels keep their fixed_ns; REPLAY_OUTSIDE stays */
  bool one_pass;     /* all passes through the model are one */
  bool longest;      /* with `one_pass`: its records take their longest_ns */
  bool apart;        /* the device's work on one stream waits for no kernel of another */
  bool eager;        /* delays that nothing known explains are gone */
  double keep;       /* 0..1: how much of REPLAY_SCALED, of recording_ns and of the own and tail time of waits is
                        the program's own; those of REPLAY_MEASUREMENT are whole */
} replay_variant;

/* Makes the scratch of a program whose other members are set. false on no memory. */
bool replay_open(replay *self);
void replay_close(replay *self);

/* `bounds` gets step_count + 1 times: where step i begins and i - 1 ends. A bound is the host's time there on lane 0,
 * or the end of the device work launched before it, whichever is later: in a loop that waits for its steps the host
 * rules, in one that runs ahead of a busy device the device does. */
void replay_steps(const replay *self, const replay_variant *variant, int64_t *bounds);

#endif
