/* run: --pm-dir */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "../support/hooks.h"
void *pmem_map_file(const char *, size_t, int, unsigned, size_t *, int *); void pmem_persist(const void *, size_t); void pmem_flush(const void *, size_t); void pmem_drain(void);
void *pmem_memcpy_persist(void *, const void *, size_t); void *pmem_memset_nodrain(void *, int, size_t); void *pmem_memmove(void *, const void *, size_t, unsigned); int pmem_is_pmem(const void *, size_t); int pmem_unmap(void *, size_t); int pmem_msync(const void *, size_t);
int main(int c, char **v) {
    char path[300]; size_t n; int is; snprintf(path, sizeof path, "%s/lib.pool", v[1]);
    char *p = pmem_map_file(path, 65536, 1, 0600, &n, &is);
    assert(p && n == 65536 && is == 1 && pmem_is_pmem(p, n));
    strcpy(p, "via strcpy"); pmem_persist(p, 11);
    pmem_memcpy_persist(p + 64, "0123456789abcdef0123456789abcdef", 32);
    pmem_memset_nodrain(p + 4096, 'x', 300); pmem_drain();
    pmem_memmove(p + 128, p + 64, 20, 1 | 4); pmem_drain();
    printf("%d %zu\n", strcmp(p, "via strcpy"), strlen(p + 64)); pmem_msync(p, 128);
    pmem_unmap(p, n);
    return 0;
}
