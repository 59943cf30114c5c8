/* BROKEN: a block is taken off the free list, but not durably, before somebody owns it.
 *
 * Missing: lf_persist(&p->free, ...) in allocate(). The owner's pointer can reach memory first. Recovery then finds the
 * block owned and free: the next allocation would hand it out a second time. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

enum { BLOCKS = 8 };

struct block {
  _Alignas(64) struct block *next; /* while it is free */
};

struct pool {
  _Alignas(64) uint64_t top;
  _Alignas(64) struct block *free;
  _Alignas(64) struct block *owner;
  struct block block[BLOCKS];
};

static struct block *allocate(struct pool *p) {
  struct block *b = p->free;
  if (b) {
    __atomic_store_n(&p->free, b->next, __ATOMIC_RELEASE);  //~ lost
    return b;
  }
  if (p->top == BLOCKS)
    return NULL;
  b = &p->block[p->top];
  __atomic_store_n(&p->top, p->top + 1, __ATOMIC_RELEASE);
  lf_persist(&p->top, sizeof p->top);
  return b;
}

static void acquire(struct pool *p) {
  __atomic_store_n(&p->owner, allocate(p), __ATOMIC_RELEASE);  //~ kept
  lf_persist(&p->owner, sizeof p->owner);
}

static void release(struct pool *p) {
  struct block *b = p->owner;
  __atomic_store_n(&p->owner, NULL, __ATOMIC_RELEASE);
  lf_persist(&p->owner, sizeof p->owner);
  b->next = p->free;
  lf_persist(b, sizeof *b);
  __atomic_store_n(&p->free, b, __ATOMIC_RELEASE);
  lf_persist(&p->free, sizeof p->free);
}

static int intact(const struct pool *p) {
  for (const struct block *b = p->free; b; b = b->next)
    if (b == p->owner || b >= &p->block[p->top])
      return 0;
  return !p->owner || p->owner < &p->block[p->top];
}

int main(void) {
  struct pool *p = lf_pm(sizeof *p);
  assert(intact(p));  //~ fails
  if (p->owner)
    release(p);
  acquire(p);
  release(p);
  acquire(p); /* gets the same block, from the free list */
  assert(intact(p));
  return 0;
}
