/* Streams and events of the CPU device: order, waiting, failures that stick, what is refused at once. */
#include "op_suite.h"
#include "pd_test.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LONG = 4000000 /* elements of randn: a good part of a second */ };

static device_rig rig;
static void open_rig(void) { rig_open(&rig); }
static void close_rig(void) { rig_close(&rig); }
#define STREAM_TEST(name) PD_TEST_WITH(cpu_streams, name, .init = open_rig, .timeout = 60)

static void add_one(pd_stream *stream, const operand *y, const operand *one) {
  rig_ok(&rig, rig.ops->tensor->elementwise(rig.device, stream, PD_EW_ADD, &y->t, &y->t, &one->t, 1), "add");
}

/* More launches than the queue holds: the caller waits, nothing is lost or reordered. */
STREAM_TEST(in_order_past_the_queues_depth) {
  operand y = OUTPUT(&rig, OPERAND_F32, 3), one = operand_number(&rig, 1);
  rig_ok(&rig, rig.ops->tensor->fill(rig.device, rig.stream, &y.t, 5), "fill");
  for (int i = 0; i < 3000; i++) add_one(rig.stream, &y, &one);
  rig_ok(&rig, rig.ops->tensor->elementwise(rig.device, rig.stream, PD_EW_SCALE, &y.t, &y.t, NULL, 2), "scale");
  for (int i = 0; i < 3; i++) y.v[i] = 2 * 3005;
  operand_expect_exact(&rig, &y, "3000 additions");
  OPERANDS_FREE(&rig, &y, &one);
  close_rig();
}

/* The launches return while the stream is still busy with the first: the event behind them has not completed. */
STREAM_TEST(launches_return_at_once_and_streams_wait_for_events) {
  const pd_stream_ops *ops = rig.ops->stream;
  operand x = OUTPUT(&rig, OPERAND_F32, LONG), y = OUTPUT(&rig, OPERAND_F32, LONG);
  pd_stream *other;
  pd_event *begin, *end;
  double ns = 0;
  rig_ok(&rig, ops->create(rig.device, &other), "stream");
  rig_ok(&rig, ops->event_create(rig.device, &begin), "event");
  rig_ok(&rig, ops->event_create(rig.device, &end), "event");
  cr_assert_eq(ops->event_elapsed_ns(rig.device, begin, end, &ns), PD_INVALID, "never recorded");
  rig_ok(&rig, ops->event_wait(rig.device, other, end), "waiting for an event never recorded waits for nothing");
  rig_ok(&rig, ops->event_record(rig.device, rig.stream, begin), "record");
  rig_ok(&rig, rig.ops->tensor->randn(rig.device, rig.stream, &x.t, rig.seed, 0), "randn");
  rig_ok(&rig, ops->event_record(rig.device, rig.stream, end), "record");
  cr_assert_eq(ops->event_elapsed_ns(rig.device, begin, end, &ns), PD_INVALID, "the launch waited for its work");
  rig_ok(&rig, ops->event_wait(rig.device, other, end), "wait");
  rig_ok(&rig,
         rig.ops->memory->copy(rig.device, other, y.t.data, x.t.data, (uint64_t)LONG * 4, PD_COPY_DEVICE_TO_DEVICE),
         "copy");
  rig_ok(&rig, ops->synchronize(rig.device, other), "synchronize");
  rig_ok(&rig, ops->event_elapsed_ns(rig.device, begin, end, &ns), "elapsed");
  cr_assert_gt(ns, 0);
  rig_download(&rig, &x.t, x.v);
  for (int64_t i = 0; i < LONG; i += 1000) cr_assert(isfinite(x.v[i]));
  memcpy(y.v, x.v, (size_t)LONG * sizeof *y.v);
  operand_expect_exact(&rig, &y, "what the other stream copied");
  ops->event_destroy(rig.device, begin);
  ops->event_destroy(rig.device, end);
  ops->destroy(rig.device, other);
  OPERANDS_FREE(&rig, &x, &y);
  close_rig();
}

/* A caller sleeps until what it waits for is done: waking it makes the jobs before that longer. */
STREAM_TEST(a_job_wakes_no_caller_of_a_later_one) {
  enum { JOBS = 200, MOST = 40 };
  struct rusage before, after;
  for (int i = 0; i < JOBS; i++) rig_ok(&rig, rig.ops->tensor->spin(rig.device, rig.stream, 100000), "spin");
  cr_assert_eq(getrusage(RUSAGE_THREAD, &before), 0);
  rig_ok(&rig, rig.ops->stream->synchronize(rig.device, rig.stream), "synchronize");
  cr_assert_eq(getrusage(RUSAGE_THREAD, &after), 0);
  cr_assert_leq(after.ru_nvcsw - before.ru_nvcsw, MOST);
  close_rig();
}

static atomic_bool is_last_done;

/* Until what was launched before has ended; whether the last job of the test had. */
static void *wait_for_all(void *was_done) {
  rig_ok(&rig, rig.ops->stream->synchronize(rig.device, rig.stream), "synchronize");
  *(bool *)was_done = atomic_load(&is_last_done);
  return NULL;
}

static void *wait_for_last(void *nothing) {
  (void)nothing;
  rig_ok(&rig, rig.ops->stream->synchronize(rig.device, rig.stream), "synchronize");
  atomic_store(&is_last_done, true);
  return NULL;
}

/* Three callers wait for one job each. The last job takes long: the other two callers are back before it ends. */
STREAM_TEST(every_caller_is_woken_by_the_job_that_it_waits_for) {
  enum { SHORT_NS = 50000000, LONG_NS = 600000000, BEGINS_US = 10000 };
  bool was_done[2] = {true, true};
  pthread_t first, second, last;
  rig_ok(&rig, rig.ops->tensor->spin(rig.device, rig.stream, SHORT_NS), "spin");
  cr_assert_eq(pthread_create(&first, NULL, wait_for_all, &was_done[0]), 0);
  usleep(BEGINS_US);
  rig_ok(&rig, rig.ops->tensor->spin(rig.device, rig.stream, SHORT_NS), "spin");
  cr_assert_eq(pthread_create(&second, NULL, wait_for_all, &was_done[1]), 0);
  usleep(BEGINS_US);
  rig_ok(&rig, rig.ops->tensor->spin(rig.device, rig.stream, LONG_NS), "spin");
  cr_assert_eq(pthread_create(&last, NULL, wait_for_last, NULL), 0);
  cr_assert_eq(pthread_join(first, NULL), 0);
  cr_assert_eq(pthread_join(second, NULL), 0);
  cr_assert_eq(pthread_join(last, NULL), 0);
  cr_assert_not(was_done[0]);
  cr_assert_not(was_done[1]);
  close_rig();
}

STREAM_TEST(an_event_may_be_destroyed_while_jobs_name_it) {
  const pd_stream_ops *ops = rig.ops->stream;
  operand x = OUTPUT(&rig, OPERAND_F32, LONG), y = OUTPUT(&rig, OPERAND_F32, 1), one = operand_number(&rig, 1);
  pd_stream *other;
  pd_event *event;
  rig_ok(&rig, ops->create(rig.device, &other), "stream");
  rig_ok(&rig, ops->event_create(rig.device, &event), "event");
  rig_ok(&rig, rig.ops->tensor->randn(rig.device, rig.stream, &x.t, 1, 0), "randn");
  rig_ok(&rig, rig.ops->tensor->fill(rig.device, rig.stream, &y.t, 0), "fill");
  rig_ok(&rig, ops->event_record(rig.device, rig.stream, event), "record");
  rig_ok(&rig, ops->event_wait(rig.device, other, event), "wait");
  ops->event_destroy(rig.device, event);
  add_one(other, &y, &one);
  rig_ok(&rig, ops->device_synchronize(rig.device), "device_synchronize");
  y.v[0] = 1;
  operand_expect_exact(&rig, &y, "one addition behind the fill");
  ops->destroy(rig.device, other);
  OPERANDS_FREE(&rig, &x, &y, &one);
  close_rig();
}

STREAM_TEST(a_failure_sticks_to_its_stream) {
  const pd_stream_ops *ops = rig.ops->stream;
  pd_stream *broken;
  pd_event *event;
  double number = 4;
  rig_ok(&rig, ops->create(rig.device, &broken), "stream");
  rig_ok(&rig, ops->event_create(rig.device, &event), "event");
  operand logits = INPUT(&rig, OPERAND_F32, 2, 3), probs = OUTPUT(&rig, OPERAND_F32, 2, 3);
  operand loss = operand_number(&rig, number), one = operand_number(&rig, 1);
  operand labels = operand_output(&rig, PD_I64, PD_NCHW, 1, &(const int64_t){2});
  operand_set(&rig, &labels, (const double[]){0, 7});
  const pd_tensor_ops *t = rig.ops->tensor;
  rig_ok(&rig, t->cross_entropy_forward(rig.device, broken, &loss.t, &probs.t, &logits.t, &labels.t), "launch");
  add_one(broken, &loss, &one); /* not run */
  rig_ok(&rig, ops->event_record(rig.device, broken, event), "record");
  for (int i = 0; i < 2; i++) {
    rig.host.message[0] = '\0';
    cr_assert_eq(ops->synchronize(rig.device, broken), PD_INVALID);
    cr_assert_str_eq(rig.host.message, "cross_entropy: label 7 of row 1 is not in 0..2");
  }
  rig.host.message[0] = '\0';
  cr_assert_eq(ops->event_synchronize(rig.device, event), PD_INVALID);
  cr_assert_str_eq(rig.host.message, "cross_entropy: label 7 of row 1 is not in 0..2");
  cr_assert_eq(ops->device_synchronize(rig.device), PD_INVALID);
  cr_assert_eq(rig.ops->memory->copy(rig.device, broken, &number, loss.t.data, 4, PD_COPY_DEVICE_TO_HOST), PD_INVALID);
  rig_sync(&rig); /* the other stream works */
  operand_expect_exact(&rig, &loss, "nothing ran behind the failure");
  ops->event_destroy(rig.device, event);
  ops->destroy(rig.device, broken);
  OPERANDS_FREE(&rig, &logits, &probs, &loss, &one, &labels);
  close_rig();
}

/* The gradient writes where the label says: a bad one must not leave the row. */
STREAM_TEST(a_bad_label_writes_nowhere) {
  const double outside[] = {-1, 3};
  for (int i = 0; i < 2; i++) {
    pd_stream *broken;
    rig_ok(&rig, rig.ops->stream->create(rig.device, &broken), "stream");
    operand probs = INPUT(&rig, OPERAND_F32, 1, 3), dlogits = OUTPUT(&rig, OPERAND_F32, 1, 3);
    operand labels = operand_output(&rig, PD_I64, PD_NCHW, 1, &(const int64_t){1});
    operand_set(&rig, &labels, &outside[i]);
    rig_ok(&rig, rig.ops->tensor->cross_entropy_backward(rig.device, broken, &dlogits.t, &probs.t, &labels.t, NULL),
           "launch");
    cr_assert_eq(rig.ops->stream->synchronize(rig.device, broken), PD_INVALID);
    rig.ops->stream->destroy(rig.device, broken);
    OPERANDS_FREE(&rig, &probs, &dlogits, &labels);
  }
  close_rig();
}

static void refused(pd_status status, const char *operation) {
  cr_assert_eq(status, PD_INVALID, "%s: status %d", operation, (int)status);
  cr_assert(strncmp(rig.host.message, operation, strlen(operation)) == 0, "\"%s\" does not begin with %s",
            rig.host.message, operation);
}

STREAM_TEST(what_does_not_fit_is_refused_at_the_call) {
  const pd_tensor_ops *t = rig.ops->tensor;
  const rig_format last = {PD_F32, PD_NHWC};
  operand image = INPUT(&rig, OPERAND_F32, 2, 3, 4, 4), turned = INPUT(&rig, last, 2, 3, 4, 4);
  operand weight = INPUT(&rig, OPERAND_F32, 5, 3, 3, 3), y = INPUT(&rig, OPERAND_F32, 2, 5, 2, 2);
  operand small = INPUT(&rig, OPERAND_F32, 2, 5, 2, 1), matrix = INPUT(&rig, OPERAND_F32, 2, 3);
  operand vector = INPUT(&rig, OPERAND_F32, 4);
  const pd_conv2d conv = {.size = sizeof conv, .stride = 2, .padding = 1}, still = {.size = sizeof conv};
  pd_device *d = rig.device;
  pd_stream *s = rig.stream;
  refused(t->conv2d_forward(d, s, &small.t, &image.t, &weight.t, NULL, false, &conv), "conv2d_forward");
  refused(t->conv2d_forward(d, s, &y.t, &turned.t, &weight.t, NULL, false, &conv), "conv2d_forward");
  refused(t->conv2d_forward(d, s, &y.t, &image.t, &weight.t, &vector.t, false, &conv), "conv2d_forward");
  refused(t->conv2d_forward(d, s, &y.t, &image.t, &weight.t, NULL, false, &still), "conv2d_forward");
  refused(t->conv2d_backward_data(d, s, &image.t, &small.t, &weight.t, &conv), "conv2d_backward_data");
  refused(t->conv2d_backward_weight(d, s, &weight.t, &small.t, &image.t, &conv), "conv2d_backward_weight");
  refused(t->elementwise(d, s, PD_EW_MUL, &image.t, &image.t, &turned.t, 1), "elementwise");
  refused(t->elementwise(d, s, PD_EW_MUL, &image.t, &image.t, NULL, 1), "elementwise");
  refused(t->elementwise(d, s, 10, &image.t, &image.t, &image.t, 1), "elementwise");
  refused(t->bias_forward(d, s, &image.t, &image.t, &vector.t), "bias_forward");
  refused(t->bias_backward(d, s, &vector.t, &image.t, false), "bias_backward");
  refused(t->matmul(d, s, &matrix.t, &matrix.t, &matrix.t, NULL, false, false, false, false), "matmul");
  refused(t->mean(d, s, &vector.t, &image.t), "mean");
  refused(t->convert(d, s, &matrix.t, &image.t), "convert");
  refused(t->layer_norm_forward(d, s, &matrix.t, &vector.t, &vector.t, &matrix.t, &vector.t, &vector.t, 1e-5),
          "layer_norm_forward");
  rig_sync(&rig);
  OPERANDS_FREE(&rig, &image, &turned, &weight, &y, &small, &matrix, &vector);
  close_rig();
}
