/*
 * An array that grows: memory of malloc(), how many rows it has room for, and how many it has. The host and its plugins
 * use it; yours may, too.
 *
 *   row *rows = NULL;
 *   uint32_t room = 0, count = 0;
 *   if (!PD_ARRAY_FIT(rows, room, count + 1)) return PD_NO_MEMORY;
 *   rows[count++] = (row){...};
 *   free(rows);
 */
#ifndef PDHOST_ARRAY_H
#define PDHOST_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes room for `count` rows, at least twice as many as before where it has to grow. `rows` may then lie elsewhere,
 * and `room` is how many rows fit. New rows are not set. False on no memory: nothing has changed. `room` is an unsigned
 * integer of 4 or 8 bytes. Each argument is named more than once. */
/* NOLINTNEXTLINE(bugprone-sizeof-expression): a row may be a pointer */
#define PD_ARRAY_FIT(rows, room, count)                                                                                \
  (((rows) && (uint64_t)(count) <= (uint64_t)(room)) ||                                                                \
   pd_array_grow((void *)&(rows), sizeof *(rows), (void *)&(room), sizeof(room), (count), false))

/* The same, and new rows are zero. */
/* NOLINTNEXTLINE(bugprone-sizeof-expression): a row may be a pointer */
#define PD_ARRAY_FIT_ZERO(rows, room, count)                                                                           \
  (((rows) && (uint64_t)(count) <= (uint64_t)(room)) ||                                                                \
   pd_array_grow((void *)&(rows), sizeof *(rows), (void *)&(room), sizeof(room), (count), true))

/* What both call: `rows` is the address of the pointer, `room` of the integer. */
static inline bool pd_array_grow(void *rows, size_t row_bytes, void *room, size_t room_bytes, uint64_t count,
                                 bool zero) {
  const uint64_t most = room_bytes == 4 ? UINT32_MAX : SIZE_MAX;
  uint32_t room_4 = 0;
  uint64_t before = 0, wanted;
  if (room_bytes == 4) {
    memcpy(&room_4, room, sizeof room_4);
    before = room_4;
  } else {
    memcpy(&before, room, sizeof before);
  }
  wanted = before > most / 2 ? most : 2 * before;
  if (wanted < count) wanted = count;
  if (wanted < 16) wanted = 16;
  if (wanted > most || wanted > SIZE_MAX / row_bytes) return false;
  void *memory, *larger;
  memcpy(&memory, rows, sizeof memory);
  larger = realloc(memory, (size_t)wanted * row_bytes);
  if (!larger) return false;
  memcpy(rows, &larger, sizeof larger);
  if (zero) memset((char *)larger + before * row_bytes, 0, (wanted - before) * row_bytes);
  room_4 = (uint32_t)wanted;
  if (room_bytes == 4)
    memcpy(room, &room_4, sizeof room_4);
  else
    memcpy(room, &wanted, sizeof wanted);
  return true;
}

#ifdef __cplusplus
}
#endif

#endif
