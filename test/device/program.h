/* program.h - what program.cu calls of its other file. */
#ifndef PROGRAM_H
#define PROGRAM_H
#include <cuda_runtime.h>
#include <stdint.h>
int from_other_file(int *device_word);
void send_from_other_file(uint64_t *word, int to, cudaStream_t stream);
int wrong_textures();
#endif
