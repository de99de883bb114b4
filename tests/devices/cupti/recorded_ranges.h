/* The ranges of NVTX that recorded_program has: its words of these names, which tell what each does. */
#ifndef TESTS_RECORDED_RANGES_H
#define TESTS_RECORDED_RANGES_H

void recorded_spans(int count);
void recorded_wide(int count);
void recorded_names(int count);
void recorded_crowd(int count);
void recorded_beyond(int count);

/* The program's: launches something, and waits until the recorder has it. The ring is made behind the first records. */
void recorded_begin(void);

#endif
