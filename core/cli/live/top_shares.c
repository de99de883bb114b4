/* See top_shares.h. */
#include "top_shares.h"

static void print_share(const char *name, double share, FILE *out) {
  fprintf(out, "%-*s%5.1f %%\n", TOP_NAME_WIDTH, name, 100 * share);
}

void top_shares_print(const record_live_second *of, FILE *out) {
  if (of->devices) {
    print_share("  kernels", of->share[RECORD_LIVE_KERNELS], out);
    print_share("  copies", of->share[RECORD_LIVE_COPIES], out);
    print_share("  sets", of->share[RECORD_LIVE_SETS], out);
    print_share("  idle", of->busy < 1 ? 1 - of->busy : 0, out);
  }
  fprintf(out, "%-*s\n", TOP_NAME_WIDTH, "Calls, of a thread");
  print_share("  launching", of->share[RECORD_LIVE_LAUNCHING], out);
  print_share("  waiting", of->share[RECORD_LIVE_WAITING], out);
  print_share("  memory", of->share[RECORD_LIVE_ALLOCATING], out);
}
