/* The training kit: three models, TinyOpsBlock, tape, AdamW and loss scaler over a device's tensor operations. */
#ifndef CORE_TRAIN_TRAIN_KIT_H
#define CORE_TRAIN_TRAIN_KIT_H

#include <pdhost/train.h>

typedef struct train_kit train_kit;

/* [train] of the configuration, and what the kit needs of the other sections. */
typedef struct train_config {
  const char *model; /* "cnn", "mlp", "transformer"; NULL: the cnn */
  double lr;
  const char *amp_dtype; /* "float16", "bfloat16"; NULL: float16 */
  bool amp, channels_last, tf32, fused, cuda_graph, scaler_sync;
  bool with_flops, with_modules;
  uint64_t seed;
  int64_t batch_size, image_size;
} train_config;

/* What `config` does not have and the device could do. amp, channels_last and cuda_graph: the device lacks nothing for
 * them. unread_graph: nothing but that the loss scaler reads back, for a graph. unread_scaler: the host reads
 * the scaler's found_inf in each step, and scaler_sync = false would stop that. fused: the device has fused kernels
 * that make a step faster. */
typedef struct train_offers {
  bool amp, channels_last, cuda_graph, unread_graph, unread_scaler, fused;
} train_offers;
train_offers train_offers_of(const pd_device_access *device, const train_config *config);

/* Fails with PD_UNSUPPORTED where the device does not offer amp, channels_last or cuda_graph. The failure's message
 * goes through host->fail; one over a key begins with "[train] key", to which the host adds where it was set. All [loop
 * thread]. */
pd_status train_kit_open(const pd_host *host, const pd_device_access *device, const pd_record *record,
                         const train_config *config, train_kit **out);
void train_kit_close(train_kit *self);

/* The table behind PD_EXT_TRAIN. */
const pd_train *train_kit_table(const train_kit *self);

/* Copies a resident batch (pd_batch.resident) to the device before its first step, so that no step has to. */
pd_status train_kit_keep(train_kit *self, const pd_batch *batch);

/* The batch that the loader will hand out after the current one; NULL: not known yet. The next to_device() begins its
 * copy after its own, so that it runs beside the step's work. `next` and its memory, which has to be page-locked, stay
 * as they are until that batch is the current one or train_kit_forget_next(). */
void train_kit_offer_next(train_kit *self, const pd_batch *next);
/* Waits for such a copy, which will not be used. */
pd_status train_kit_forget_next(train_kit *self);

enum { TRAIN_LOSSES_KEPT = 65536 };

/* The losses of the steps done since the last call, oldest first: reads them back from the device (one copy, waits).
 * Writes at most `capacity`, sets *count. The kit keeps the last TRAIN_LOSSES_KEPT. */
pd_status train_kit_losses(train_kit *self, double *losses, uint64_t capacity, uint64_t *count);

/* Current loss scale; 1 without amp, and with bfloat16. Reads the device: waits. */
pd_status train_kit_loss_scale(train_kit *self, double *scale);

#endif
