/* Calls of CUPTI that fail, that come late, or that come in an order of their own. */
#include "faults_system.h"

PD_TEST(cupti_faults, names_the_tool_that_was_there_first) {
  fake_set()->other_tool = "CUPTI for Nsight Systems";
  cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false), PD_DEVICE);
  cr_assert_not_null(strstr(why, "\"CUPTI for Nsight Systems\" (39)"), "%s", why);
  kept_record_free(&record);
}

PD_TEST(cupti_faults, leaves_nothing_behind_when_a_call_fails) {
  static const char *const functions[] = {"cuptiSetThreadIdType", "cuptiActivitySetAttribute", "cuptiSubscribe",
                                          "cuptiEnableDomain", "cuptiActivityRegisterCallbacks"};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    fake_reset();
    fake_set()->fail_function = functions[i];
    fake_set()->fail_code = 35;
    cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false), PD_DEVICE, "%s", functions[i]);
    cr_assert_not_null(strstr(why, functions[i]), "%s", why);
    cr_assert_not_null(strstr(why, "ERR_NVGPUCTRPERM"), "%s", why);
    cr_assert_null(collect);
    kept_record_free(&record);
    fake_set()->fail_function = NULL; /* and once it works again, it works: nobody is in its way */
    open_collect(CUPTI_BETWEEN_AUTO);
    close_collect();
    cr_assert_eq(fake_get().bad_order, 0, "%s", functions[i]);
  }
}

PD_TEST(cupti_faults, switches_everything_off_when_a_kind_cannot_be_switched_on) {
  enum { KINDS = 8 };
  for (uint32_t at = 0; at <= KINDS; at++) {
    fake_reset();
    cr_assert_eq(try_open(CUPTI_BETWEEN_DISABLE, true), PD_OK, "%s", why);
    fake_set()->fail_function = "cuptiActivityEnable";
    fake_set()->fail_code = 43;
    fake_set()->fail_after = at;
    const pd_status status = cupti_collect_start(collect, why, sizeof why);
    cr_assert_eq(status, at < KINDS ? PD_DEVICE : PD_OK, "%u", at);
    fake_set()->fail_function = NULL;
    if (at < KINDS) {
      cr_assert_not_null(strstr(why, "MIG"), "%s", why);
      cr_assert_not(any_on(), "%u", at);
      start(); /* it may be tried again */
    }
    fake_launch("_Z1kv");
    fake_finish(0);
    drain();
    cr_assert(drained.complete);
    close_collect();
  }
}

PD_TEST(cupti_faults, serves_one_at_a_time) {
  cupti_collect *second;
  open_collect(CUPTI_BETWEEN_DISABLE);
  const cupti_collect_config config = {.api = &api, .max_bytes = LIMIT_BYTES};
  cr_assert_eq(cupti_collect_open(&config, &second, why, sizeof why), PD_UNSUPPORTED);
  cr_assert_null(second);
  cr_assert_not_null(strstr(why, "another device"), "%s", why);
  close_collect();
}

PD_TEST(cupti_faults, bears_callbacks_after_its_end) {
  size_t bytes = 1;
  open_collect(CUPTI_BETWEEN_DISABLE);
  fake_set()->keeps_callbacks = true;
  start();
  uint8_t *held = fake_request(&bytes);
  cr_assert_not_null(held);
  cupti_collect_close(collect);
  held[0] = 1; /* CUPTI may still write to what it holds */
  fake_complete(held, 8);
  cr_assert_null(fake_request(&bytes));
  cr_assert_eq(bytes, 0);
  kept_record_free(&record);
}

static void request_large(void) {
  size_t bytes = 0;
  while (bytes != 4 << 20)
    (void)fake_request(&bytes); /* a small one first, and where the machine is busy more of them */
}

/* A launching thread finds a large buffer mapped and faulted in before it asks. */
PD_TEST(cupti_faults, maps_the_next_buffer_before_it_is_asked_for) {
  const struct timespec moment = {.tv_nsec = 1000000};
  open_collect(CUPTI_BETWEEN_DISABLE);
  for (int i = 0; i < 2; i++) request_large(); /* two of the four */
  (void)counts();
  cr_assert_eq(atomic_load(&mapped_beside), 0);
  request_large();
  for (int i = 0; i < 10000 && !atomic_load(&mapped_beside); i++) nanosleep(&moment, NULL);
  cr_assert_eq(atomic_load(&mapped_beside), 1);
  close_collect();
}

static void *request_held(void *unused) {
  size_t bytes;
  (void)unused;
  held_inside = true;
  (void)fake_request_beside(&bytes);
  held_inside = false;
  return NULL;
}

static void *close_beside(void *unused) {
  (void)unused;
  cupti_collect_close(collect);
  atomic_store(&closed, true);
  return NULL;
}

/* A thread is inside a callback as the collector ends: what it reads there is not taken away from under it. */
PD_TEST(cupti_faults, waits_for_callbacks_that_are_under_way) {
  const struct timespec moment = {.tv_nsec = 1000000};
  pthread_t asker, closer;
  open_collect(CUPTI_BETWEEN_DISABLE);
  cr_assert_eq(pthread_create(&asker, NULL, request_held, NULL), 0);
  while (!atomic_load(&inside_now)) sched_yield();
  cr_assert_eq(pthread_create(&closer, NULL, close_beside, NULL), 0);
  for (int i = 0; i < 100 && !atomic_load(&closed); i++) nanosleep(&moment, NULL);
  cr_assert_not(atomic_load(&closed));
  atomic_store(&let_go, true);
  pthread_join(asker, NULL);
  pthread_join(closer, NULL);
  kept_record_free(&record);
}

PD_TEST(cupti_faults, does_nothing_in_a_forked_child) {
  size_t bytes;
  int state;
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  pid_t child = fork();
  if (child == 0) {
    cupti_drained none;
    int bad = 0;
    bad |= fake_request(&bytes) != NULL ? 1 : 0;
    cupti_collect_stop(collect);
    cupti_collect_drain(collect, 1000, &none);
    bad |= none.polls ? 2 : 0;
    bad |= cupti_collect_start(collect, why, sizeof why) != PD_UNSUPPORTED ? 4 : 0;
    cupti_collect_close(collect);
    _exit(bad);
  }
  cr_assert_eq(waitpid(child, &state, 0), child);
  cr_assert(WIFEXITED(state));
  cr_assert_eq(WEXITSTATUS(state), 0);
  fake_launch("_Z1kv");
  fake_finish(0);
  drain();
  cr_assert(drained.complete); /* the parent goes on */
  close_collect();
}

PD_TEST(cupti_faults, reports_the_librarys_own_end) {
  open_collect(CUPTI_BETWEEN_DETACH);
  start();
  cr_assert_eq(cupti_collect_failed(collect), 0);
  fake_fatal(999);
  cr_assert_eq(cupti_collect_failed(collect), 999);
  drain();
  cr_assert_eq(cupti_collect_failed(collect), 999);
  start(); /* with a library that begins anew */
  cr_assert_eq(cupti_collect_failed(collect), 0);
  drain();
  close_collect();
}

PD_TEST(cupti_faults, bears_any_order_of_calls) {
  open_collect(CUPTI_BETWEEN_DETACH);
  cupti_collect_drain(collect, SECOND_NS, &drained);
  cr_assert_eq(drained.polls, 0);
  cupti_collect_stop(collect);
  start();
  cupti_collect_stop(collect);
  cupti_collect_stop(collect);
  drain();
  drain();
  close_collect();
  cupti_collect_close(NULL);
}
