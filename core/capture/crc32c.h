/* CRC32C (Castagnoli), as of RFC 3720 appendix B.4: crc32c("123456789") is 0xE3069283. [any thread] */
#ifndef CORE_CAPTURE_CRC32C_H
#define CORE_CAPTURE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `bytes` bytes that follow those of checksum `before`; 0: none do. */
uint32_t crc32c(uint32_t before, const void *data, size_t bytes);
/* The same without the processor's instruction, for its test and for processors that lack it. */
uint32_t crc32c_plain(uint32_t before, const void *data, size_t bytes);

#endif
