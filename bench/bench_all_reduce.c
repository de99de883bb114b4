/*
 * A plain loop of ncclAllReduce, without pdhost: what scripts/gpu-check --ranks holds pdhost's figures against.
 *   mpirun -n 2 bench_all_reduce BYTES...
 * For each size rank 0 prints the bytes, the median time in us, and the algorithm's and the bus bandwidth in GB/s, as
 * nccl-tests define them. A time is that between two events around ten calls in a row, over ten.
 */
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <nccl.h>

#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 10, ROUNDS = 21, CALLS = 10 };

#define CUDA(call)                                                                                                     \
  do {                                                                                                                 \
    const cudaError_t error = (call);                                                                                  \
    if (error != cudaSuccess) fail(#call, cudaGetErrorString(error));                                                  \
  } while (0)
#define NCCL(call)                                                                                                     \
  do {                                                                                                                 \
    const ncclResult_t result = (call);                                                                                \
    if (result != ncclSuccess) fail(#call, ncclGetErrorString(result));                                                \
  } while (0)

static void fail(const char *what, const char *why) {
  fprintf(stderr, "bench_all_reduce: %s: %s\n", what, why);
  (void)MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static int by_value(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static float round_us(ncclComm_t comm, cudaStream_t stream, float *data, size_t count, int calls) {
  cudaEvent_t start, end;
  float ms = 0;
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&end));
  CUDA(cudaStreamSynchronize(stream));
  (void)MPI_Barrier(MPI_COMM_WORLD);
  CUDA(cudaEventRecord(start, stream));
  for (int i = 0; i < calls; i++) NCCL(ncclAllReduce(data, data, count, ncclFloat, ncclAvg, comm, stream));
  CUDA(cudaEventRecord(end, stream));
  CUDA(cudaEventSynchronize(end));
  CUDA(cudaEventElapsedTime(&ms, start, end));
  CUDA(cudaEventDestroy(start));
  CUDA(cudaEventDestroy(end));
  return 1000 * ms / (float)calls;
}

static void measure(ncclComm_t comm, cudaStream_t stream, size_t bytes, int rank, int ranks) {
  float *data, times[ROUNDS];
  const size_t count = bytes / sizeof(float);
  CUDA(cudaMalloc((void **)&data, bytes));
  CUDA(cudaMemset(data, 0, bytes));
  (void)round_us(comm, stream, data, count, WARM_UP);
  for (int i = 0; i < ROUNDS; i++) times[i] = round_us(comm, stream, data, count, CALLS);
  qsort(times, ROUNDS, sizeof times[0], by_value);
  const double us = times[ROUNDS / 2], algorithm = 1e-3 * (double)bytes / us;
  if (rank == 0) printf("%zu %.3f %.4f %.4f\n", bytes, us, algorithm, algorithm * 2 * (ranks - 1) / ranks);
  CUDA(cudaFree(data));
}

int main(int argc, char **argv) {
  int rank = 0, ranks = 1;
  const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  ncclUniqueId id;
  ncclComm_t comm;
  cudaStream_t stream;
  if (argc < 2) {
    printf("usage: mpirun -n 2 bench_all_reduce BYTES...\n");
    return 0;
  }
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  (void)MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaSetDevice(local ? (int)strtol(local, NULL, 10) : rank));
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  (void)MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  NCCL(ncclCommInitRank(&comm, ranks, id, rank));
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 1; i < argc; i++) measure(comm, stream, strtoull(argv[i], NULL, 10), rank, ranks);
  CUDA(cudaStreamDestroy(stream));
  NCCL(ncclCommDestroy(comm));
  (void)MPI_Finalize();
  return 0;
}
