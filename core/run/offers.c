/* See offers.h. */
#include "offers.h"

pd_offers offers_of(const pd_device_access *device, const config *settings) {
  const data_config *data = &settings->data;
  const train_offers train = train_offers_of(device, &settings->train);
  const bool on_device = data->resident == DATA_RESIDENT_DEVICE,
             made_ahead = data->num_workers > 0 || data->resident != DATA_RESIDENT_NONE;
  pd_offers out = PD_OFFER_KNOWN;
  if (train.amp) out |= PD_OFFER_AMP;
  if (train.channels_last) out |= PD_OFFER_CHANNELS_LAST;
  const bool is_whole = settings->scenario.plugin->table->ops.scenario->whole_step;
  if (train.cuda_graph && is_whole) out |= PD_OFFER_CUDA_GRAPH;
  if (train.unread_graph && is_whole) out |= PD_OFFER_UNREAD_GRAPH;
  if (train.unread_scaler) out |= PD_OFFER_UNREAD_SCALER;
  if (train.fused) out |= PD_OFFER_FUSED;
  if (!on_device && !data->pin_memory) out |= PD_OFFER_PIN_MEMORY;
  if (!on_device && made_ahead && !data->prefetch_to_device) out |= PD_OFFER_PREFETCH;
  if (!on_device) out |= PD_OFFER_RESIDENT;
  return out;
}
