/* The processors' energy, of counters that are played. */
#include "pd_test.h"

#include "run/powercap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], why[POWERCAP_FAULT_ROOM];

static void zone(int number, const char *name, const char *uj, const char *range) {
  const char *files[][2] = {{"name", name}, {"energy_uj", uj}, {"max_energy_range_uj", range}};
  char path[128];
  (void)snprintf(path, sizeof path, "%s/intel-rapl:%d", folder, number);
  (void)mkdir(path, 0700);
  for (int i = 0; i < 3; i++) {
    (void)snprintf(path, sizeof path, "%s/intel-rapl:%d/%s", folder, number, files[i][0]);
    (void)unlink(path);
    if (!files[i][1]) continue;
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert(fprintf(file, "%s\n", files[i][1]) > 0);
    cr_assert_eq(fclose(file), 0);
  }
}

static void begin(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/powercap_XXXXXX");
  cr_assert_not_null(mkdtemp(folder));
}

PD_TEST(powercap, packages_add_up_and_the_platform_does_not) {
  powercap_count from, to;
  begin();
  zone(0, "package-0", "1000000", "262143328850");
  zone(1, "psys", "7", "262143328850");
  zone(2, "package-1", "5000000", "262143328850");
  cr_assert(powercap_read(folder, &from, why, sizeof why));
  cr_assert_eq(from.count, 2);
  zone(0, "package-0", "31000000", "262143328850");
  zone(1, "psys", "900000000", "262143328850");
  zone(2, "package-1", "17500000", "262143328850");
  cr_assert(powercap_read(folder, &to, why, sizeof why));
  cr_assert_float_eq(powercap_joules(&from, &to, 2), 42.5, 1e-9);
}

PD_TEST(powercap, a_counter_begins_anew) {
  powercap_count from, to;
  begin();
  zone(0, "package-0", "65532000000", "65532610987");
  cr_assert(powercap_read(folder, &from, why, sizeof why));
  zone(0, "package-0", "1000000", "65532610987");
  cr_assert(powercap_read(folder, &to, why, sizeof why));
  cr_assert_float_eq(powercap_joules(&from, &to, 10), 1.610987, 1e-6);
  cr_assert_eq(powercap_joules(&from, &to, 66), 0, "it may have done so twice");
}

PD_TEST(powercap, what_cannot_be_read_is_not_known) {
  powercap_count from, to;
  begin();
  cr_assert_not(powercap_read(folder, &from, why, sizeof why), "no package");
  cr_assert_str_empty(why);
  zone(0, "package-0", NULL, "262143328850"); /* root alone may read it */
  cr_assert_not(powercap_read(folder, &from, why, sizeof why));
  cr_assert_not_null(strstr(why, "/intel-rapl:0/energy_uj: No such file or directory"), "%s", why);
  zone(0, "package-0", "joules", "262143328850");
  cr_assert_not(powercap_read(folder, &from, why, sizeof why));
  cr_assert_not_null(strstr(why, "/intel-rapl:0/energy_uj: no number"), "%s", why);
  zone(0, "package-0", "1", "262143328850");
  cr_assert(powercap_read(folder, &from, why, sizeof why));
  zone(1, "package-1", "1", "262143328850");
  cr_assert(powercap_read(folder, &to, why, sizeof why));
  cr_assert_eq(powercap_joules(&from, &to, 1), 0, "a package came");
}
