/* As much of libpmem's interface as the cases use. */
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void pmem_persist(const void *addr, size_t len);
void pmem_flush(const void *addr, size_t len);
void pmem_drain(void);
int pmem_msync(const void *addr, size_t len);
void *pmem_memcpy_nodrain(void *dest, const void *src, size_t len);
#ifdef __cplusplus
}
#endif
