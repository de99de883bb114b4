/* The capture of a program, as `pdhost record` writes it, read as other profilers' files are. It belongs to the host:
 * the format is its own. */
#ifndef CORE_RUN_IMPORT_PROGRAM_H
#define CORE_RUN_IMPORT_PROGRAM_H

#include <pdhost/reader.h>

#define IMPORT_PROGRAM_NAME "record"
extern const pd_reader_ops import_program_ops;

#endif
