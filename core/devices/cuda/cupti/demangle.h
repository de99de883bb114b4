/* Names of kernels as their source writes them. */
#ifndef PDHOST_DEVICES_CUDA_DEMANGLE_H
#define PDHOST_DEVICES_CUDA_DEMANGLE_H

/* The name that `mangled` stands for under the Itanium C++ ABI, to free(); null where it is no such name (a C
   function's, a library's own), where memory is short, and where it is too long: more than 8192 characters, some 1000
   parts one in another or in one list, and without libiberty in the build more than 1024 characters. Needs up to 2 MiB
   of stack for the longest. */
char *cuda_demangle(const char *mangled);

#endif
