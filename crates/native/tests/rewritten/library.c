/* Compiled without Landfall: instructions of many shapes that access persistent memory, with others behind them that are moved along. */
#include <emmintrin.h>
#include <stdint.h>
#include <string.h>

static uint64_t digest = 14695981039346656037ull;
static void mix(uint64_t value) { digest = (digest ^ value) * 1099511628211ull; }

/* The loop jumps to what lies right behind a short load: into the middle of the jump that replaces it. */
static uint64_t jumped_into(uint64_t *p, uint64_t turns) {
  uint64_t value, sum = 0;
  __asm__ volatile("movq (%[p]), %[value]\n"
                   "1: addq %[value], %[sum]\n"
                   "incq %[value]\n"
                   "decq %[turns]\n"
                   "jnz 1b\n"
                   : [value] "=&r"(value), [sum] "+r"(sum), [turns] "+r"(turns)
                   : [p] "r"(p)
                   : "cc", "memory");
  return sum;
}

/* Flags go in and come out; a branch is moved along. */
static uint64_t with_flags(uint64_t *p) {
  uint64_t taken = 0;
  __asm__ volatile("stc\n"
                   "adcq (%[p]), %[taken]\n"
                   "cmpq $5, 8(%[p])\n"
                   "jb 2f\n"
                   "addq $100, %[taken]\n"
                   "2: sbbq $0, %[taken]\n"
                   "std\n"
                   "movq 16(%[p]), %%rcx\n"
                   "cld\n"
                   "addq %%rcx, %[taken]\n"
                   : [taken] "+&r"(taken)
                   : [p] "r"(p)
                   : "rcx", "cc", "memory");
  return taken;
}

/* What a function keeps below its stack pointer. */
static uint64_t below_the_stack(uint64_t *p) {
  uint64_t value;
  __asm__ volatile("movq $77, -8(%%rsp)\n"
                   "movq $78, -128(%%rsp)\n"
                   "movq 24(%[p]), %[value]\n"
                   "addq -8(%%rsp), %[value]\n"
                   "addq -128(%%rsp), %[value]\n"
                   : [value] "=&r"(value)
                   : [p] "r"(p)
                   : "cc", "memory");
  return value;
}

static void sizes(uint8_t *p) {
  uint8_t high;
  __asm__ volatile("xorl %%eax, %%eax\nmovb 1(%[p]), %%ah\nmovb %%ah, %[high]" : [high] "=&c"(high) : [p] "D"(p) : "rax", "cc", "memory");
  mix(high);
  mix(*(volatile uint8_t *)(p + 1));
  mix(*(volatile uint16_t *)(p + 2));
  mix(*(volatile int8_t *)(p + 3));
  mix(*(volatile uint32_t *)(p + 5));
  mix(*(volatile uint64_t *)(p + 9));
  *(volatile uint8_t *)(p + 64) = (uint8_t)digest;
  *(volatile uint16_t *)(p + 66) = (uint16_t)digest;
  *(volatile uint32_t *)(p + 68) = (uint32_t)digest;
  *(volatile uint64_t *)(p + 73) = digest;
  __m128i wide = _mm_loadu_si128((__m128i *)(p + 16));
  _mm_storeu_si128((__m128i *)(p + 96), _mm_add_epi8(wide, wide));
  double real = *(volatile double *)(p + 32) + 1.5;
  *(volatile double *)(p + 40) = real;
}

static void updates(uint64_t *p) {
  uint64_t expected = p[0];
  __asm__ volatile("addq $3, 128(%0)\nincl 136(%0)\nnegq 144(%0)\nshlq $2, 152(%0)" : : "r"(p) : "cc", "memory");
  mix(__atomic_fetch_add(p + 20, 7, __ATOMIC_SEQ_CST));
  mix(__atomic_compare_exchange_n(p + 0, &expected, expected + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  mix(__atomic_exchange_n(p + 21, digest, __ATOMIC_SEQ_CST));
  mix(p[20]);
}

uint64_t churn(void *memory, int turn) {
  uint64_t *p = memory;
  digest += (uint64_t)turn;
  mix(jumped_into(p, 5));
  mix(with_flags(p));
  mix(below_the_stack(p));
  sizes(memory);
  updates(p);
  _mm_stream_si64((long long *)(p + 24), (long long)digest);
  /* Across two pages. */
  memory = (char *)memory + 4096 - 3;
  *(volatile uint64_t *)memory += 1;
  mix(*(volatile uint64_t *)memory);
  _mm_clflush(p + 24);
  _mm_sfence();
  static uint64_t own;
  __atomic_fetch_add(&own, 1, __ATOMIC_SEQ_CST);
  mix(own);
  return digest;
}

/* The last instruction of a function, with nothing behind it but filling; and an address that is nowhere. */
__attribute__((naked)) uint64_t last(void *memory) { __asm__("movq (%rdi), %rax\nret"); }
