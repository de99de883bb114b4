/* Capture of a stream's work into a graph, and its replay. The capture is the calling thread's: other threads may go on
 * allocating meanwhile. */
#include "cuda_error.h"

#include <stdlib.h>

pd_status cuda_capture_begin(pd_device *device, pd_stream *stream) {
  pd_status status = cuda_bind(device);
  if (status == PD_OK)
    status = cuda_check(device, cudaStreamBeginCapture(stream->handle, cudaStreamCaptureModeThreadLocal),
                        "cudaStreamBeginCapture");
  if (status == PD_OK) stream->capturing = stream->captured = true;
  return status;
}

pd_status cuda_capture_end(pd_device *device, pd_stream *stream, pd_graph **out) {
  *out = NULL;
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  stream->capturing = false;
  pd_graph *graph = calloc(1, sizeof *graph);
  if (!graph) {
    status = PD_NO_MEMORY;
    (void)device->host->fail(device->host, status, "cuda: no memory for a graph");
  }
  /* The capture ends in any case, or the stream could not be used again. */
  cudaGraph_t captured = NULL;
  const cudaError_t error = cudaStreamEndCapture(stream->handle, &captured);
  if (status == PD_OK) status = cuda_check(device, error, "cudaStreamEndCapture");
  if (graph) graph->graph = captured;
  if (status == PD_OK)
    status = cuda_check(device, cudaGraphInstantiate(&graph->exec, captured, 0), "cudaGraphInstantiate");
  if (status == PD_OK) status = cuda_check(device, cudaGraphUpload(graph->exec, stream->handle), "cudaGraphUpload");
  if (status != PD_OK) {
    if (!graph && captured) cudaGraphDestroy(captured);
    cuda_graph_destroy(device, graph);
    return status;
  }
  *out = graph;
  return PD_OK;
}

pd_status cuda_graph_launch(pd_device *device, pd_stream *stream, pd_graph *graph) {
  const pd_status status = cuda_bind(device);
  return status != PD_OK ? status : cuda_check(device, cudaGraphLaunch(graph->exec, stream->handle), "cudaGraphLaunch");
}

void cuda_graph_destroy(pd_device *device, pd_graph *graph) {
  if (!graph) return;
  if (cuda_bind(device) == PD_OK) {
    if (graph->exec) cudaGraphExecDestroy(graph->exec);
    if (graph->graph) cudaGraphDestroy(graph->graph);
  }
  free(graph);
}
