/* What the CUDA device does on the host: memory, workspaces, streams and the choice of algorithms, with a runtime and
 * libraries that are played here. No GPU is needed. */
#include "fake_cuda.h"

#include <cublas_v2.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

extern cudaStream_t fake_cublas_stream;

/* ---- memory --------------------------------------------------------------------------------------------------- */

PD_TEST(cuda_host, an_allocation_during_which_recording_began_has_no_duration) {
  const pd_memory_ops *ops = &cuda_memory_ops;
  pd_stream *stream = open_stream();
  void *block, *pinned;
  fake.records_during = true;
  cr_assert_eq(ops->alloc(&device, stream, PD_ALLOCATOR_POOL, 100, &block), PD_OK);
  cr_assert_eq(last_event.bytes, 100);
  cr_assert_eq(last_event.duration_ticks, 0);
  recording = 0;
  cr_assert_eq(ops->host_alloc(&device, 200, &pinned), PD_OK);
  cr_assert_eq(last_event.bytes, 200);
  cr_assert_eq(last_event.duration_ticks, 0);
  cr_assert_eq(ops->host_free(&device, 200, pinned), PD_OK); /* recorded from its beginning */
  cr_assert_eq(last_event.bytes, -200);
  cr_assert_eq(last_event.duration_ticks, 7);
  cr_assert_eq(last_event.device, 1);
  cr_assert_eq(ops->free(&device, stream, PD_ALLOCATOR_POOL, 100, block), PD_OK);
  cuda_stream_ops.destroy(&device, stream);
  cr_assert_eq(live(), 0);
}

PD_TEST(cuda_host, allocations_are_events_only_where_asked) {
  pd_stream *stream = open_stream();
  recording = 1;
  for (int asked = 0; asked < 2; asked++) {
    void *block, *pinned;
    device.profile_memory = asked;
    cr_assert_eq(cuda_memory_ops.alloc(&device, stream, PD_ALLOCATOR_POOL, 100, &block), PD_OK);
    cr_assert_eq(last_event.bytes, asked ? 100 : 0);
    cr_assert_eq(cuda_memory_ops.host_alloc(&device, 200, &pinned), PD_OK);
    cr_assert_eq(last_event.bytes, asked ? 200 : 0);
    cr_assert_eq(cuda_memory_ops.host_free(&device, 200, pinned), PD_OK);
    cr_assert_eq(last_event.bytes, asked ? -200 : 0);
    cr_assert_eq(cuda_memory_ops.free(&device, stream, PD_ALLOCATOR_POOL, 100, block), PD_OK);
    cr_assert_eq(last_event.bytes, asked ? -100 : 0);
  }
  cuda_stream_ops.destroy(&device, stream);
}

/* What the pool keeps for reuse is given back before memory is refused, whoever asks for it. */
PD_TEST(cuda_host, memory_that_the_pool_keeps_is_there_for_all) {
  pd_stream *stream = open_stream();
  void *block = NULL;
  fake.refuse_bytes = 1000;
  for (pd_allocator allocator = PD_ALLOCATOR_POOL; allocator <= PD_ALLOCATOR_RAW; allocator++) {
    fake.pool_keeps = 800;
    cr_assert_eq(cuda_memory_ops.alloc(&device, stream, allocator, 300, &block), PD_OK, "%s", host.message);
    cr_assert_eq(cuda_memory_ops.free(&device, stream, allocator, 300, block), PD_OK);
  }
  cr_assert_eq(fake.trims, 2);
  fake.pool_keeps = 800;
  cr_assert_eq(cuda_memory_ops.alloc(&device, NULL, PD_ALLOCATOR_RAW, 300, &block), PD_OK, "%s", host.message);
  cr_assert_eq(cuda_memory_ops.free(&device, NULL, PD_ALLOCATOR_RAW, 300, block), PD_OK);
  fake.pool_keeps = 800;
  cr_assert_eq(cuda_workspace(&device, stream, 300), PD_OK, "%s", host.message);
  cr_assert_eq(fake.trims, 4);
  cr_assert_eq(cuda_workspace(&device, stream, 1000), PD_NO_MEMORY);
  cr_assert_str_eq(host.message, "CUDA: workspace: 1000 bytes asked, 70 free of 1000: lower batch_size or image_size");
  cr_assert_eq(cuda_memory_ops.alloc(&device, stream, PD_ALLOCATOR_RAW, 2000, &block), PD_NO_MEMORY);
  cr_assert_str_eq(host.message, "CUDA: cudaMalloc: 2000 bytes asked, 70 free of 1000: lower batch_size or image_size");
  cr_assert_null(block);
  cr_assert_eq(fake.last, cudaSuccess); /* the next call does not find it */
  cuda_stream_ops.destroy(&device, stream);
}

PD_TEST(cuda_host, the_pool_is_not_trimmed_inside_a_capture) {
  pd_stream *stream = open_stream();
  pd_graph *graph = NULL;
  void *block;
  fake.refuse_bytes = 1000;
  fake.pool_keeps = 800;
  cr_assert_eq(cuda_stream_ops.capture_begin(&device, stream), PD_OK);
  for (pd_allocator allocator = PD_ALLOCATOR_POOL; allocator <= PD_ALLOCATOR_RAW; allocator++)
    cr_assert_eq(cuda_memory_ops.alloc(&device, stream, allocator, 300, &block), PD_NO_MEMORY);
  cr_assert_eq(fake.trims + fake.waits, 0);
  cr_assert_eq(cuda_stream_ops.capture_end(&device, stream, &graph), PD_OK);
  cuda_stream_ops.graph_destroy(&device, graph);
  cuda_stream_ops.destroy(&device, stream);
}

/* A kernel's fault met on the way is the failure: lowering the batch size would not help. */
PD_TEST(cuda_host, a_fault_is_not_taken_for_a_lack_of_memory) {
  pd_stream *stream = open_stream();
  fake.refuse_bytes = 1000;
  for (pd_allocator allocator = PD_ALLOCATOR_POOL; allocator <= PD_ALLOCATOR_RAW; allocator++) {
    void *block = &block;
    fake.fault = cudaErrorIllegalAddress;
    cr_assert_eq(cuda_memory_ops.alloc(&device, stream, allocator, 1000, &block), PD_DEVICE);
    cr_assert_str_eq(host.message, "CUDA: allocation of device memory: other (other)");
    cr_assert_null(block);
  }
  cr_assert_eq(fake.trims, 0);
  fake.fault = cudaSuccess;
  cuda_stream_ops.destroy(&device, stream);
}

/* ---- workspaces ----------------------------------------------------------------------------------------------- */

PD_TEST(cuda_host, a_workspace_outlives_its_growth_where_a_graph_may_write_to_it) {
  pd_stream *stream = open_stream();
  const int own = live();
  cr_assert_eq(cuda_workspace(&device, stream, 100), PD_OK);
  cr_assert_eq(cuda_workspace(&device, stream, 200), PD_OK);
  cr_assert_eq(live(), own + 1); /* nothing was captured: the smaller one is gone */
  const void *first = stream->workspace;
  capture(stream);
  cr_assert_eq(cuda_workspace(&device, stream, 300), PD_OK);
  const void *second = stream->workspace;
  cr_assert_neq(second, first);
  cr_assert(is_live(first));
  cr_assert_eq(cuda_workspace(&device, stream, 300), PD_OK);
  cr_assert_eq(stream->workspace, second);
  capture(stream);
  cr_assert_eq(cuda_workspace(&device, stream, 400), PD_OK);
  cr_assert(is_live(first) && is_live(second));
  fake.refuse_bytes = 500;
  cr_assert_eq(cuda_workspace(&device, stream, 500), PD_NO_MEMORY);
  cr_assert(is_live(first) && is_live(second));
  cr_assert_eq(cuda_workspace(&device, stream, 400), PD_OK);
  cuda_stream_ops.destroy(&device, stream);
  cr_assert_eq(live(), 0);
}

PD_TEST(cuda_host, a_workspace_does_not_grow_inside_a_capture) {
  pd_stream *stream = open_stream();
  pd_graph *graph = NULL;
  cr_assert_eq(cuda_workspace(&device, stream, 100), PD_OK);
  const void *before = stream->workspace;
  const int waits = fake.waits;
  cr_assert_eq(cuda_stream_ops.capture_begin(&device, stream), PD_OK);
  cr_assert_eq(cuda_workspace(&device, stream, 100), PD_OK);
  cr_assert_eq(cuda_workspace(&device, stream, 101), PD_INVALID);
  cr_assert_not_null(strstr(host.message, "needs 101 bytes of workspace inside a capture and the stream has 100"), "%s",
                     host.message);
  cr_assert_eq(fake.waits, waits); /* waiting would spoil the capture */
  cr_assert_eq(stream->workspace, before);
  cr_assert_eq(cuda_stream_ops.capture_end(&device, stream, &graph), PD_OK);
  cuda_stream_ops.graph_destroy(&device, graph);
  cr_assert_eq(cuda_workspace(&device, stream, 101), PD_OK);
  cuda_stream_ops.destroy(&device, stream);
}

/* ---- streams -------------------------------------------------------------------------------------------------- */

PD_TEST(cuda_host, cublas_keeps_no_stream_that_is_gone) {
  float numbers[8];
  const pd_tensor t = {.data = numbers, .shape = {1, 2, 2}, .rank = 3, .dtype = PD_F32};
  pd_stream *first = open_stream(), *second = NULL;
  cr_assert_eq(cuda_stream_ops.create(&device, &second), PD_OK);
  cr_assert_eq(cuda_op_batched_matmul(&device, first, &t, &t, &t, false, false, false), PD_OK, "%s", host.message);
  cr_assert_eq(fake_cublas_stream, first->handle);
  cuda_stream_ops.destroy(&device, second); /* another's end changes nothing */
  cr_assert_eq(fake_cublas_stream, first->handle);
  cuda_stream_ops.destroy(&device, first);
  cr_assert_null(fake_cublas_stream);
  cr_assert_eq(cuda_stream_ops.create(&device, &first), PD_OK);
  cr_assert_eq(cuda_op_batched_matmul(&device, first, &t, &t, &t, false, false, false), PD_OK);
  cr_assert_eq(fake_cublas_stream, first->handle);
  cuda_stream_ops.destroy(&device, first);
  cuda_blas_close(&device);
}

/* ---- libraries ------------------------------------------------------------------------------------------------ */

PD_TEST(cuda_host, each_library_that_is_missing_is_named_with_what_was_tried) {
  static const char *const named[] = {"cuDNN 9 and cuBLASLt could not be loaded: ", "/nowhere/libcudnn.so.9: ",
                                      "/nowhere/libcublasLt.so.13: ", "/nowhere/libcublasLt.so.12: ", "--device cpu"};
  cuda_libraries libraries;
  test_host_init(&host);
  fake.folder = "/nowhere";
  cr_assert_eq(cuda_libraries_open(&host.host, &libraries), PD_UNSUPPORTED);
  for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
    cr_assert_not_null(strstr(host.message, named[i]), "%s: %s", named[i], host.message);
  cr_assert(!libraries.cudnn_handle && !libraries.cublaslt_handle);
}

PD_TEST(cuda_host, batched_products_say_where_cublas_was_looked_for) {
  float numbers[8];
  const pd_tensor t = {.data = numbers, .shape = {1, 2, 2}, .rank = 3, .dtype = PD_F32};
  pd_stream *stream = open_stream();
  fake.folder = "/nowhere";
  cr_assert_eq(cuda_op_batched_matmul(&device, stream, &t, &t, &t, false, false, false), PD_UNSUPPORTED);
  cr_assert_not_null(strstr(host.message, "/nowhere/libcublas.so.13: "), "%s", host.message);
  cr_assert_not_null(strstr(host.message, "/nowhere/libcublas.so.12: "), "%s", host.message);
  cuda_stream_ops.destroy(&device, stream);
}

/* ---- the choice of algorithms --------------------------------------------------------------------------------- */

static const conv_key key = {.n = 1,
                             .c = 8,
                             .h = 4,
                             .w = 4,
                             .o = 8,
                             .oh = 4,
                             .ow = 4,
                             .kh = 3,
                             .kw = 3,
                             .stride = 1,
                             .padding = 1,
                             .x_dtype = PD_F32,
                             .w_dtype = PD_F32,
                             .y_dtype = PD_F32};
static const conv_arguments arguments;

static void free_plans(void) {
  while (convolutions.plans) {
    conv_plan *plan = convolutions.plans;
    convolutions.plans = plan->next;
    free(plan);
  }
}

PD_TEST(cuda_host, a_candidate_that_fails_is_passed_over_without_a_word) {
  conv_plan *plan = NULL;
  pd_stream *stream = open_stream();
  fake.candidate_count = 4;
  fake.candidates[0] = fake.candidates[3] = CUDNN_STATUS_EXECUTION_FAILED;
  fake.workspaces[1] = 1000; /* more than there is */
  fake.refuse_bytes = 1000;
  cr_assert_eq(conv_choose(&device, stream, &key, &arguments, &plan), PD_OK, "%s", host.message);
  cr_assert_eq(plan->plan, (void *)&fake.candidates[2]);
  cr_assert_str_eq(host.message, "");
  cr_assert_eq(fake.events, 0);
  cr_assert_eq(conv_choose(&device, stream, &key, &arguments, &plan), PD_OK);
  cr_assert_eq(fake.gathered, 1); /* it was kept */
  free_plans();
  cuda_stream_ops.destroy(&device, stream);
}

PD_TEST(cuda_host, no_candidate_that_works_is_an_error) {
  conv_plan *plan = NULL;
  pd_stream *stream = open_stream();
  fake.candidate_count = 3;
  for (int i = 0; i < 3; i++) fake.candidates[i] = CUDNN_STATUS_EXECUTION_FAILED;
  for (int call = 1; call <= 2; call++) {
    host.message[0] = '\0';
    cr_assert_eq(conv_choose(&device, stream, &key, &arguments, &plan), PD_DEVICE);
    cr_assert_str_eq(host.message, "cuDNN: none of 3 algorithms for conv forward of (1,8,4,4) to 8 channels works; the "
                                   "last one: the played failure");
    cr_assert_null(convolutions.plans);
    cr_assert_eq(fake.gathered, call);
    cr_assert_eq(fake.events, 0);
  }
  fake.candidate_count = 1; /* without a trial; the operation itself says what is wrong */
  cr_assert_eq(conv_choose(&device, stream, &key, &arguments, &plan), PD_OK);
  cr_assert_eq(conv_run(&device, stream, plan, &arguments), PD_DEVICE);
  cr_assert_str_eq(host.message, "cuDNN: convolution: the played failure: in detail");
  free_plans();
  cuda_stream_ops.destroy(&device, stream);
}

/* A grid has 65535 blocks of 32 rows in its second dimension. */
PD_TEST(cuda_host, a_product_of_more_rows_than_a_grid_covers_is_the_librarys) {
  _Alignas(16) float numbers[4];
  pd_stream *stream = open_stream();
  for (int64_t rows = 65535 * 32 - 32; rows <= 65535 * 32 + 32; rows += 32) {
    const pd_tensor a = {.data = numbers, .shape = {rows, 4}, .rank = 2, .dtype = PD_F32};
    const pd_tensor b = {.data = numbers, .shape = {4, 4}, .rank = 2, .dtype = PD_F32};
    const bool fits = rows <= 65535 * 32;
    fake.small_products = 0;
    cr_assert_eq(cuda_op_matmul(&device, stream, &a, &a, &b, NULL, false, false, false, false),
                 fits ? PD_OK : PD_DEVICE); /* there is no library here */
    cr_assert_eq(fake.small_products, fits);
  }
  cuda_matmuls_close(&device);
  cuda_stream_ops.destroy(&device, stream);
}
