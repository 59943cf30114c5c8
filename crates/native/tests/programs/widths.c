#include <string.h>
#include "../support/hooks.h"
/* Every width, unaligned and line-crossing, first reads byte by byte, locked operations. */
int main(void) {
    char *p = lf_pm(4096); unsigned __int128 wide = ((unsigned __int128)7 << 64) | 9; char text[40] = "the quick brown fox jumps over the dog";
    __lf_store1(p + 3, 0x11, 0, SITE); __lf_store2(p + 7, 0x2233, 0, SITE); __lf_store4(p + 62, 0x44556677, 8, SITE);
    __lf_store8(p + 125, 0x8899aabbccddeeffull, 5, SITE); __lf_store16(p + 136, wide, 0, SITE); __lf_store_n(p + 200, text, 33, 16, SITE);
    __lf_load4(p, 0, SITE); __lf_load8(p, 0, SITE); __lf_load8(p + 4, 0, SITE); __lf_load16(p + 140, 4, SITE); __lf_load_n(text, p + 300, 20, 0, SITE);
    __lf_rmw8(p + 512, 5, 1, 7, SITE); __lf_rmw4(p + 520, 5, 0, 2, SITE); __lf_cas8(p + 512, 5, 6, 7, SITE); __lf_cas8(p + 512, 5, 7, 7, SITE);
    __lf_cas16(p + 528, 0, wide, 7, SITE); __lf_store8(p + 560, 1, 7, SITE);
    long local = 0; __lf_rmw8(&local, 1, 1, 7, SITE); __lf_rmw8(&local, 1, 1, 7, SITE);
    __lf_memcpy(p + 1000, p + 200, 33, SITE); __lf_memset(p + 1100, 0xee, 40, SITE); __lf_fence(7, SITE); __lf_fence(5, SITE); __lf_clflush(p, SITE); __lf_clflushopt(p + 70, SITE); __lf_lfence(SITE);
    return 0;
}
