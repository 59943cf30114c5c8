// Memory that a run maps is fresh in the next one, at the same place; libpmemobj maps some only to find a place. In place, too.
#include "../support/hooks.h"
#include <assert.h>
#include <sys/mman.h>
int main(void) {
    uint64_t *p = lf_pm(4096);
    char *hint = mmap(0, 10 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(hint != MAP_FAILED && hint[4096] == 0 && munmap(hint, 10 << 20) == 0);
    char *one = mmap(0, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *two = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(one != MAP_FAILED && two != MAP_FAILED && one != two);
    assert(one[0] == 0 && two[70000] == 0);
    one[0] = 1;
    two[70000] = 2;
    __lf_store8(p, (uint64_t)one % 4096, 0, SITE);
    assert(munmap(one, 5000) == 0);
    one = mmap(0, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(one[0] == 0);
    __lf_store8(p + 1, one[0], 0, SITE);
    return 0;
}
