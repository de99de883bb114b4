/* What the files of new_device share. */
#ifndef NEW_DEVICE_H
#define NEW_DEVICE_H

#include <pdhost/device.h>

struct pd_device {
  const pd_host *host;
  const pd_record *record; /* NULL: this host records nothing */
  int64_t extra_ns;        /* what each operation takes longer */
  uint32_t recording;      /* 1: between profile.start and profile.stop */
  uint32_t reserved;
  uint64_t correlation; /* of the last call */
  uint64_t allocated, peak;
};

/* The records of one call and of what the device does for it. */
typedef struct device_work {
  pd_activity call, done;
} device_work;

/* A kernel of the name that `kernel` has. */
void device_begin_kernel(pd_device *device, device_work *work, pd_site *kernel);
/* The work is done: hands the records over, where they are wanted. */
void device_end(pd_device *device, device_work *work);

extern const pd_tensor_ops new_device_tensor_ops;

#endif
