#include <libpmemobj.h>
#include <string.h>
#include <syslog.h>

/* From libpmem.h. */
void *pmem_map_file(const char *path, size_t length, int flags, unsigned mode, size_t *mapped, int *is_pmem);
void pmem_persist(const void *from, size_t length);

static int unused; /* A warning, which the makefile makes an error. */

const char *pmemobj_version(void) { return SRCVERSION; }

struct pool *pmemobj_open(const char *path, const char *layout) {
  size_t mapped;
  int is_pmem;
  struct pool *pool = pmem_map_file(path, 4096, 0, 0600, &mapped, &is_pmem);
  syslog(LOG_INFO, "%s opened as %s", path, layout);
  return pool;
}

void pmemobj_persist(struct pool *pool, const void *from, size_t length) {
  (void)pool;
  pmem_persist(from, length);
}
