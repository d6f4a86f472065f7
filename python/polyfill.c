/* polyfill.c - functions of glibc 2.36 that libraries in the wheel call, for machines with glibc 2.34 or 2.35. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void *at, size_t bytes);
uint32_t arc4random(void);

void arc4random_buf(void *at, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = getrandom((char *)at + done, bytes - done, 0);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            abort();
    }
}

uint32_t arc4random(void)
{
    uint32_t v;
    arc4random_buf(&v, sizeof v);
    return v;
}
