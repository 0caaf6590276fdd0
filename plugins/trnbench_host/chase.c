/* Loads that need each other: the index of the next one is what this one loads. */
#include <stddef.h>
#include <stdint.h>

uint64_t chase(const uint64_t *next, uint64_t start, uint64_t loads)
{
    uint64_t at = start;
    for (uint64_t i = 0; i < loads; i++)
        at = next[at];
    return at;
}

/* STREAM's triad as STREAM means it: one loop. */
void triad(double *restrict a, const double *restrict b, const double *restrict c, double s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] + s * c[i];
}
