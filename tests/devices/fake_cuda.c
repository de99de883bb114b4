/* See fake_cuda.h. */
#include "fake_cuda.h"

#include <cublas_v2.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

fake_cuda fake;
test_host host;
pd_device device;
cuda_conv_cache convolutions;

/* ---- the recorder ------------------------------------------------------------------------------------------- */

uint32_t recording;
static uint64_t clock_ticks;
pd_memory_event last_event;
static uint64_t record_ticks(const pd_record *self) {
  (void)self;
  return clock_ticks += 7;
}
static void record_memory(const pd_record *self, const pd_memory_event *event) {
  (void)self;
  last_event = *event;
}
static const pd_record record = {
    .size = sizeof record, .enabled = &recording, .ticks = record_ticks, .memory = record_memory};

/* ---- the runtime ------------------------------------------------------------------------------------------- */

static cudaError_t keep(cudaError_t error) {
  if (error != cudaSuccess) fake.last = error;
  return error;
}
bool is_live(const void *memory) {
  for (size_t i = 0; i < sizeof fake.memory / sizeof fake.memory[0]; i++)
    if (fake.memory[i] == memory) return true;
  return false;
}
int live(void) {
  int count = 0;
  for (size_t i = 0; i < sizeof fake.memory / sizeof fake.memory[0]; i++) count += fake.memory[i] != NULL;
  return count;
}
cudaError_t cudaMalloc(void **memory, size_t bytes) {
  *memory = NULL;
  if (fake.records_during) recording = 1;
  if (fake.refuse_bytes && bytes + fake.pool_keeps >= fake.refuse_bytes) return keep(cudaErrorMemoryAllocation);
  for (size_t i = 0; i < sizeof fake.memory / sizeof fake.memory[0]; i++)
    if (!fake.memory[i]) {
      *memory = fake.memory[i] = malloc(1);
      return cudaSuccess;
    }
  return keep(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void *memory) {
  for (size_t i = 0; memory && i < sizeof fake.memory / sizeof fake.memory[0]; i++)
    if (fake.memory[i] == memory) fake.memory[i] = NULL;
  free(memory);
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream) {
  (void)stream;
  return cudaMalloc(memory, bytes);
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
  (void)stream;
  return cudaFree(memory);
}
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
  (void)flags;
  return cudaMalloc(memory, bytes);
}
cudaError_t cudaFreeHost(void *memory) { return cudaFree(memory); }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
  (void)pool;
  fake.trims++;
  fake.pool_keeps = bytes;
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  (void)pool, (void)attribute;
  memcpy(value, &fake.pool_keeps, sizeof fake.pool_keeps);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  *available = 70;
  *total = 1000;
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)to, (void)from, (void)bytes, (void)kind, (void)stream;
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  (void)memory, (void)value, (void)bytes, (void)stream;
  return cudaSuccess;
}
cudaError_t cudaGetLastError(void) {
  const cudaError_t last = fake.last;
  fake.last = cudaSuccess;
  return last;
}
const char *cudaGetErrorName(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "memory" : "other"; }
const char *cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  (void)flags;
  *stream = malloc(1);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  free(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  fake.waits++;
  return keep(fake.fault);
}
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
  *event = malloc(1);
  fake.events++;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  fake.events--;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  (void)event, (void)stream;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  (void)event;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
  (void)start, (void)end;
  *ms = 1;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  (void)stream, (void)mode;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  (void)stream;
  *graph = malloc(1);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
  (void)graph, (void)flags;
  *exec = malloc(1);
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  (void)exec, (void)stream;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  (void)exec, (void)stream;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  free(exec);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  free(graph);
  return cudaSuccess;
}

/* The libraries' loader calls this one. */
PD_EXPORT void *dlopen(const char *path, int mode) {
  void *(*next)(const char *, int);
  void *symbol = dlsym(RTLD_NEXT, "dlopen");
  char elsewhere[256];
  memcpy(&next, &symbol, sizeof next);
  if (!fake.folder) return next(path, mode);
  const char *slash = strrchr(path, '/');
  snprintf(elsewhere, sizeof elsewhere, "%s/%s", fake.folder, slash ? slash + 1 : path);
  return next(elsewhere, mode);
}

/* ---- the device's other files and its libraries ------------------------------------------------------------- */

pd_status cuda_bind(pd_device *at) {
  (void)at;
  return PD_OK;
}
cudaError_t cuda_convert(const cuda_launch *at, void *y, pd_dtype y_dtype, const void *x, pd_dtype x_dtype,
                         int64_t count) {
  (void)at, (void)y, (void)y_dtype, (void)x, (void)x_dtype, (void)count;
  return cudaSuccess;
}
cudaError_t cuda_matmul_small(const cuda_launch *at, const cuda_matmul *matmul) {
  (void)at, (void)matmul;
  fake.small_products++;
  return cudaSuccess;
}
pd_status cuda_op_bias_forward(pd_device *at, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                               const pd_tensor *bias) {
  (void)at, (void)stream, (void)y, (void)x, (void)bias;
  return PD_OK;
}
pd_status cuda_op_bias_relu(pd_device *at, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                            const pd_tensor *bias, bool relu) {
  (void)at, (void)stream, (void)y, (void)x, (void)bias, (void)relu;
  return PD_OK;
}
pd_status conv_candidates(pd_device *at, const conv_key *key, conv_form form, bool compile, conv_plan **out,
                          int capacity, int *count) {
  (void)compile, (void)capacity;
  at->convolutions = &convolutions;
  fake.gathered++;
  for (int i = 0; i < fake.candidate_count; i++) {
    conv_plan *plan = calloc(1, sizeof *plan);
    cr_assert_not_null(plan);
    plan->key = *key;
    plan->form = form;
    plan->workspace = fake.workspaces[i];
    plan->plan = &fake.candidates[i];
    out[(*count)++] = plan;
  }
  return PD_OK;
}
void conv_plan_free(pd_device *at, conv_plan *plan) {
  (void)at;
  free(plan);
}
cudnnStatus_t conv_execute(pd_device *at, pd_stream *stream, conv_plan *plan, const conv_arguments *arguments) {
  (void)at, (void)stream, (void)arguments;
  return *(cudnnStatus_t *)plan->plan;
}
static const char *cudnn_text(cudnnStatus_t status) {
  (void)status;
  return "the played failure";
}
static void cudnn_detail(char *text, size_t bytes) { snprintf(text, bytes, "in detail"); }
static cublasStatus_t no_cublaslt(cublasLtHandle_t *handle) {
  *handle = NULL;
  return CUBLAS_STATUS_NOT_INITIALIZED;
}
static const char *cublas_text(cublasStatus_t status) {
  (void)status;
  return "not played";
}

pd_stream *open_stream(void) {
  pd_stream *stream = NULL;
  memset(&fake, 0, sizeof fake);
  test_host_init(&host);
  recording = 0;
  clock_ticks = 1000;
  last_event = (pd_memory_event){0};
  device = (pd_device){
      .host = &host.host, .record = &record, .index = 1, .profile_memory = true, .options = {.conv_search = "timed"}};
  device.libraries.cudnn.GetErrorString = cudnn_text;
  device.libraries.cudnn.GetLastErrorString = cudnn_detail;
  device.libraries.cublaslt.Create = no_cublaslt;
  device.libraries.cublaslt.GetStatusString = cublas_text;
  pthread_mutex_init(&device.lock, NULL);
  convolutions.plans = NULL;
  cr_assert_eq(cuda_stream_ops.create(&device, &stream), PD_OK);
  return stream;
}
void capture(pd_stream *stream) {
  pd_graph *graph = NULL;
  cr_assert_eq(cuda_stream_ops.capture_begin(&device, stream), PD_OK);
  cr_assert_eq(cuda_stream_ops.capture_end(&device, stream, &graph), PD_OK);
  cuda_stream_ops.graph_destroy(&device, graph);
}
