/* Names of kernels as their source writes them. */
#ifndef PDHOST_DEVICES_CUDA_DEMANGLE_H
#define PDHOST_DEVICES_CUDA_DEMANGLE_H

/* The name that `mangled` stands for under the Itanium C++ ABI, to free(); null where it is no such name (a C
   function's, a library's own), where memory is short, and for names too long: beyond 8192 characters, and beyond 1024
   in a build without libiberty. Needs up to 2 MiB of stack for the longest. */
char *cuda_demangle(const char *mangled);

#endif
