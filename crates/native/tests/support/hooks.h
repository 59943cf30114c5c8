/* What the pass emits, by hand: for testing the runtime without the pass. */
#include <stddef.h>
#include <stdint.h>
struct lf_site { const char *file; const char *function; uint32_t line; uint32_t column; };
#define SITE ({ static const struct lf_site here __attribute__((section("lf_sites"), used)) = {__FILE__, "test", __LINE__, 1}; &here; })
typedef const struct lf_site *S;
uint8_t __lf_load1(const void *, uint32_t, S); uint16_t __lf_load2(const void *, uint32_t, S);
uint32_t __lf_load4(const void *, uint32_t, S); uint64_t __lf_load8(const void *, uint32_t, S);
unsigned __int128 __lf_load16(const void *, uint32_t, S);
void __lf_load_n(void *, const void *, uint64_t, uint32_t, S);
void __lf_store1(void *, uint8_t, uint32_t, S); void __lf_store2(void *, uint16_t, uint32_t, S);
void __lf_store4(void *, uint32_t, uint32_t, S); void __lf_store8(void *, uint64_t, uint32_t, S);
void __lf_store16(void *, unsigned __int128, uint32_t, S);
void __lf_store_n(void *, const void *, uint64_t, uint32_t, S);
uint64_t __lf_rmw8(void *, uint64_t, uint32_t, uint32_t, S); uint32_t __lf_rmw4(void *, uint32_t, uint32_t, uint32_t, S);
uint64_t __lf_cas8(void *, uint64_t, uint64_t, uint32_t, S);
unsigned __int128 __lf_cas16(void *, unsigned __int128, unsigned __int128, uint32_t, S);
void __lf_fence(uint32_t, S); void __lf_sfence(S); void __lf_mfence(S); void __lf_lfence(S);
void __lf_clflush(const void *, S); void __lf_clflushopt(const void *, S); void __lf_clwb(const void *, S);
void __lf_memcpy(void *, const void *, uint64_t, S); void __lf_memset(void *, int, uint64_t, S);
void __lf_budget_out(S);
extern int64_t __lf_budget;
#define STEP() do { if (--__lf_budget < 0) __lf_budget_out(SITE); } while (0)
void *lf_pm(size_t); int lf_failures(void); void lf_flush(const void *, size_t); void lf_fence(void);
void lf_persist(const void *, size_t); void *lf_alloc(size_t); void lf_free(void *); void **lf_root(unsigned);
