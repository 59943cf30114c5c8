/* The pool file is created, then grown: a power failure in between leaves an empty one, which recovery grows again. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

void *pmem_map_file(const char *path, size_t len, int flags, unsigned mode, size_t *mapped, int *is_pmem);
void pmem_persist(const void *addr, size_t len);

int main(void) {
  size_t mapped;
  int is_pmem;
  uint64_t *count = pmem_map_file(POOL, 4096, 1, 0666, &mapped, &is_pmem);
  if (!count)
    return 1;
  assert(*count < 3);
  ++*count;
  pmem_persist(count, sizeof *count);
  return 0;
}
