/* Two functions are enough to see a program compiled against it, linked with it and found out. */
#include <stddef.h>
#include <stdint.h>

struct pool {
  _Alignas(64) uint64_t value;
  _Alignas(64) uint64_t valid;
};

struct pool *pmemobj_open(const char *path, const char *layout);
void pmemobj_persist(struct pool *pool, const void *from, size_t length);
const char *pmemobj_version(void);
