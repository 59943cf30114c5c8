// A runtime for the tests of the pass alone: every hook does what it stands for and prints one line.
// Compiled without the pass. Addresses are printed relative to the persistent window ("+16"); anything else is "outside".
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PM_BASE 0x100000000000ull
#define PM_LEN (1ull << 36)
#define MAPPED (1ull << 20)

typedef unsigned __int128 u128;
struct lf_site {
  const char *file, *function;
  uint32_t line, column;
};

int64_t __lf_budget = INT64_MAX;
uint64_t __lf_window = PM_LEN;
extern const struct lf_site __start_lf_sites[] __attribute__((weak));
extern const struct lf_site __stop_lf_sites[] __attribute__((weak));

__attribute__((constructor(101))) static void map_persistent_memory(void) {
  void *at = mmap((void *)PM_BASE, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (at != (void *)PM_BASE)
    _exit(99);
}

// One write per line: the program under test may die at any moment.
static void print(const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (write(1, line, length) != length)
    _exit(98);
}

static const char *place(const void *p) {
  static char text[4][32];
  static unsigned next;
  char *t = text[next++ % 4];
  uint64_t offset = (uint64_t)p - PM_BASE;
  if (offset >= PM_LEN)
    return "outside";
  snprintf(t, 32, "+%llu", (unsigned long long)offset);
  return t;
}

static const char *at(const struct lf_site *site) {
  static char text[256];
  if (site == NULL)
    return "@NULL";
  if ((const void *)site < (const void *)__start_lf_sites || (const void *)site >= (const void *)__stop_lf_sites ||
      ((uintptr_t)site - (uintptr_t)__start_lf_sites) % sizeof *site != 0)
    return "@stray";
  const char *file = strrchr(site->file, '/');
  snprintf(text, sizeof text, "@%s:%u:%u %s", file ? file + 1 : site->file, site->line, site->column, site->function);
  return text;
}

static const char *how(uint32_t flags) {
  static const char *orders[] = {"", " unordered", " relaxed", " order3", " acquire", " release", " acq_rel", " seq_cst"};
  static char text[64];
  snprintf(text, sizeof text, "%s%s%s%s%s", orders[flags & 7], flags & 8 ? " volatile" : "", flags & 16 ? " nt" : "",
           flags & 32 ? " second-half" : "", flags >> 6 ? " STRAY-FLAGS" : "");
  return text;
}

// A compare-and-exchange that fails has an ordering of its own, from bit 8 on.
static uint32_t exchanged(uint32_t flags, int done) {
  uint32_t fails = flags >> 8;
  flags &= 0xff;
  return done || !fails ? flags : (flags & ~7u) | fails;
}

static const char *hex(const void *p, uint64_t n) {
  // Addresses of the program's own code and data change from run to run.
  uint64_t word = 0;
  memcpy(&word, p, n < 8 ? n : 8);
  if (n == 8 && word >> 40 >= 0x55 && word >> 40 <= 0x7f)
    return "address";
  static char text[4][160];
  static unsigned next;
  char *t = text[next++ % 4];
  const unsigned char *b = p;
  uint64_t i = n;
  char *end = t;
  while (i > 1 && b[i - 1] == 0)
    i--;
  end += sprintf(end, "0x");
  end += sprintf(end, "%x", i ? b[--i] : 0);
  while (i > 0)
    end += sprintf(end, "%02x", b[--i]);
  return t;
}

#define SIZED(N, T)                                                                                                    \
  T __lf_load##N(const void *p, uint32_t flags, const struct lf_site *site) {                                          \
    T v;                                                                                                               \
    memcpy(&v, p, N);                                                                                                  \
    print("load%d %s %s%s %s\n", N, place(p), hex(&v, N), how(flags), at(site));                                       \
    return v;                                                                                                          \
  }                                                                                                                    \
  void __lf_store##N(void *p, T v, uint32_t flags, const struct lf_site *site) {                                       \
    memcpy(p, &v, N);                                                                                                  \
    print("store%d %s %s%s %s\n", N, place(p), hex(&v, N), how(flags), at(site));                                      \
  }                                                                                                                    \
  T __lf_cas##N(void *p, T expected, T desired, uint32_t flags, const struct lf_site *site) {                          \
    T old;                                                                                                             \
    memcpy(&old, p, N);                                                                                                \
    if (old == expected)                                                                                               \
      memcpy(p, &desired, N);                                                                                          \
    print("cas%d %s %s->%s %s%s %s\n", N, place(p), hex(&expected, N), hex(&desired, N),                               \
          old == expected ? "done" : "failed", how(exchanged(flags, old == expected)), at(site));                      \
    return old;                                                                                                        \
  }                                                                                                                    \
  T __lf_rmw##N(void *p, T v, uint32_t op, uint32_t flags, const struct lf_site *site) {                               \
    T old;                                                                                                             \
    memcpy(&old, p, N);                                                                                                \
    T new = (T)modified(N, old, v, op);                                                                                \
    memcpy(p, &new, N);                                                                                                \
    print("rmw%d %s %s %s %s->%s%s %s\n", N, place(p), operation(op), hex(&v, N), hex(&old, N), hex(&new, N),          \
          how(flags), at(site));                                                                                       \
    return old;                                                                                                        \
  }

static const char *operation(uint32_t op) {
  static const char *names[] = {"xchg", "add", "sub", "and",  "nand", "or",   "xor",  "max",
                                "min",  "umax", "umin", "fadd", "fsub", "fmax", "fmin"};
  return op < 15 ? names[op] : "STRAY-OPERATION";
}

static double real(int n, u128 bits) {
  if (n == 4) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
  }
  double d;
  memcpy(&d, &bits, 8);
  return d;
}

static u128 real_bits(int n, double value) {
  u128 bits = 0;
  float narrow = (float)value;
  if (n == 4)
    memcpy(&bits, &narrow, 4);
  else
    memcpy(&bits, &value, 8);
  return bits;
}

static u128 modified(int n, u128 a, u128 b, uint32_t op) {
  int shift = 128 - 8 * n;
  __int128 sa = (__int128)(a << shift) >> shift, sb = (__int128)(b << shift) >> shift;
  switch (op) {
  case 0: return b;
  case 1: return a + b;
  case 2: return a - b;
  case 3: return a & b;
  case 4: return ~(a & b);
  case 5: return a | b;
  case 6: return a ^ b;
  case 7: return sa > sb ? a : b;
  case 8: return sa < sb ? a : b;
  case 9: return a > b ? a : b;
  case 10: return a < b ? a : b;
  case 11: return real_bits(n, real(n, a) + real(n, b));
  case 12: return real_bits(n, real(n, a) - real(n, b));
  case 13: return real(n, a) > real(n, b) ? a : b;
  case 14: return real(n, a) < real(n, b) ? a : b;
  }
  return a;
}

SIZED(1, uint8_t)
SIZED(2, uint16_t)
SIZED(4, uint32_t)
SIZED(8, uint64_t)
SIZED(16, u128)

void __lf_load_n(void *to, const void *p, uint64_t n, uint32_t flags, const struct lf_site *site) {
  memcpy(to, p, n);
  print("load[%llu] %s %s%s %s\n", (unsigned long long)n, place(p), n <= 64 ? hex(p, n) : "…", how(flags), at(site));
}

void __lf_store_n(void *p, const void *from, uint64_t n, uint32_t flags, const struct lf_site *site) {
  memcpy(p, from, n);
  print("store[%llu] %s %s%s %s\n", (unsigned long long)n, place(p), n <= 64 ? hex(p, n) : "…", how(flags), at(site));
}

void __lf_memcpy(void *to, const void *from, uint64_t n, const struct lf_site *site) {
  memcpy(to, from, n);
  print("memcpy %s <- %s %llu %s\n", place(to), place(from), (unsigned long long)n, at(site));
}

void __lf_memmove(void *to, const void *from, uint64_t n, const struct lf_site *site) {
  memmove(to, from, n);
  print("memmove %s <- %s %llu %s\n", place(to), place(from), (unsigned long long)n, at(site));
}

void __lf_memset(void *to, int c, uint64_t n, const struct lf_site *site) {
  memset(to, c, n);
  print("memset %s = 0x%x %llu %s\n", place(to), (unsigned)c, (unsigned long long)n, at(site));
}

void __lf_fence(uint32_t ordering, const struct lf_site *site) { print("fence%s %s\n", how(ordering), at(site)); }
void __lf_sfence(const struct lf_site *site) { print("sfence %s\n", at(site)); }
void __lf_locked(const struct lf_site *site) { print("locked %s\n", at(site)); }
void __lf_mfence(const struct lf_site *site) { print("mfence %s\n", at(site)); }
void __lf_lfence(const struct lf_site *site) { print("lfence %s\n", at(site)); }
void __lf_clflush(const void *p, const struct lf_site *site) { print("clflush %s %s\n", place(p), at(site)); }
void __lf_clflushopt(const void *p, const struct lf_site *site) { print("clflushopt %s %s\n", place(p), at(site)); }
void __lf_clwb(const void *p, const struct lf_site *site) { print("clwb %s %s\n", place(p), at(site)); }
void __lf_step_begins(const struct lf_site *site) { (void)site; }
void __lf_step_ends(void) {}
// Of sources in assembly, which keep all registers.
void __lf_assembly_entered(void) {}
void __lf_assembly_head(void) {}
void __lf_opaque(const struct lf_site *site) { (void)site; }
void __lf_asm(const struct lf_site *site) { print("asm %s\n", at(site)); }

void __lf_budget_out(const struct lf_site *site) {
  print("budget %s\n", at(site));
  _exit(0);
}
void __lf_turn(const struct lf_site *site, uint64_t number, uint64_t *kept, uint64_t bytes, uint64_t counted) {
  (void)number, (void)kept, (void)bytes;
  print("turn %s\n", at(site));
}
void __lf_leaves_loop(void) {}

void __lf_waits(const struct lf_site *site, uint64_t number, uint64_t *kept, uint64_t bytes, uint64_t counted) {
  (void)number, (void)kept, (void)bytes;
  print("waits %s\n", at(site));
}
// The window is what one thread has: neither is called.
void __lf_frame_begins(const void *start, uint64_t length) { (void)start, (void)length; print("frame begins\n"); }
void __lf_frames_left(void) {}
void __lf_frame_ends(const void *start, uint64_t length) { (void)start, (void)length; print("frame ends\n"); }
void __lf_block_variable_ends(const void *start, uint64_t length) { (void)start, (void)length; print("block ends\n"); }
void __lf_array_begins(void *entry, const void *start, uint64_t length) { (void)entry, (void)start; print("array of %lu bytes begins\n", length); }
void __lf_arrays_end(void *table, uint64_t count, const void *back_to) { (void)table, (void)back_to; print("arrays end, of %lu\n", count); }
void __lf_arrays_return(void *table, uint64_t count) { (void)table, (void)count; print("arrays return\n"); }
void __lf_number(const void *address) { (void)address; print("number\n"); }
uint64_t __lf_random(void) { print("random\n"); return 0x1122334455667788; }
