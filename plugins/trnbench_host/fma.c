/* Multiply-adds that need nothing from memory, as many at once as hide their latency: what the vector units reach. */

#if defined(__AVX512F__)
#define WIDE 64
#elif defined(__AVX__)
#define WIDE 32
#else
#define WIDE 16
#endif

#define CHAINS 12 /* more than latency × units of any core known to us, and few enough to stay in registers */

/* x = x·a + b in CHAINS chains of WIDE bytes, `rounds` times. The sum of all is returned, so that none is left out;
   the multiply-adds of one round are what `name##_per_round` says. */
#define CHAINED(name, type)                                                                                      \
    typedef type name##_vector __attribute__((vector_size(WIDE)));                                               \
    long name##_per_round(void) { return CHAINS * (long)(WIDE / sizeof(type)); }                                 \
    double name(long rounds, double a, double b)                                                                 \
    {                                                                                                            \
        name##_vector va = (name##_vector){0} + (type)a, vb = (name##_vector){0} + (type)b, x[CHAINS];           \
        for (int i = 0; i < CHAINS; i++)                                                                         \
            x[i] = (name##_vector){0} + (type)(i + 1);                                                           \
        for (long n = 0; n < rounds; n++)                                                                        \
            for (int i = 0; i < CHAINS; i++)                                                                     \
                x[i] = x[i] * va + vb;                                                                           \
        double sum = 0.0;                                                                                        \
        for (int i = 0; i < CHAINS; i++)                                                                         \
            for (unsigned lane = 0; lane < WIDE / sizeof(type); lane++)                                          \
                sum += x[i][lane];                                                                               \
        return sum;                                                                                              \
    }

CHAINED(fma_fp32, float)
CHAINED(fma_fp64, double)
