// durable
#include <libpmem.h>
#include <stdint.h>
void f(char *to, const char *from, size_t n, uint64_t *length) {
  /*@*/pmem_memcpy_nodrain(to, from, n);
  *length = n;
  pmem_persist(length, sizeof(*length));
}
