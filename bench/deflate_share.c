/* See deflate_share.h. */
#include "deflate_share.h"

#include <isa-l.h>
#include <stdlib.h>

void *deflate_share(void *given) {
  enum { PIECE = 1 << 20, ROOM = PIECE + PIECE / 4 };
  deflate_share_of *mine = given;
  uint8_t *level = malloc(ISAL_DEF_LVL1_DEFAULT), *packed = malloc(ROOM);
  for (uint64_t at = 0; level && packed && at < mine->bytes; at += PIECE) {
    struct isal_zstream stream;
    isal_deflate_init(&stream);
    stream.level = 1;
    stream.level_buf = level;
    stream.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    stream.gzip_flag = IGZIP_DEFLATE;
    stream.flush = FULL_FLUSH;
    stream.next_in = mine->text + at;
    stream.avail_in = (uint32_t)(mine->bytes - at < PIECE ? mine->bytes - at : PIECE);
    stream.next_out = packed;
    stream.avail_out = ROOM;
    if (isal_deflate(&stream) != COMP_OK) break;
    mine->packed_bytes += ROOM - stream.avail_out;
    (void)crc32_gzip_refl(0, mine->text + at, mine->bytes - at < PIECE ? mine->bytes - at : PIECE);
  }
  free(level);
  free(packed);
  return NULL;
}
