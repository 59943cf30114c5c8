/* Written by Landfall, in place of what PMDK asks a device: the files of a run are memory. They have no bad blocks and never lost power
 * unsafely, and pools that were made on a machine with devices open as well. Names and arguments are PMDK's. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

struct pmem2_source;
struct pmem2_badblock;
struct pmem2_badblock_context;

int pmem2_badblock_context_new(struct pmem2_badblock_context **context, const struct pmem2_source *source) {
  (void)source;
  *context = NULL;
  return 0;
}

void pmem2_badblock_context_delete(struct pmem2_badblock_context **context) { (void)context; }

/* Which of the two PMDK has elsewhere depends on its version. */
__attribute__((weak)) int pmem2_badblock_next(struct pmem2_badblock_context *context, struct pmem2_badblock *block) {
  (void)context, (void)block;
  return -ENOENT;
}

__attribute__((weak)) int pmem2_badblock_next_internal(struct pmem2_badblock_context *context,
                                                       struct pmem2_badblock *block) {
  (void)context, (void)block;
  return -ENOENT;
}

int pmem2_badblock_clear(struct pmem2_badblock_context *context, const struct pmem2_badblock *block) {
  (void)context, (void)block;
  return 0;
}
