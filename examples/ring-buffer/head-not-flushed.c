/* BROKEN: get() does not make `head` durable: "in the worst case an item is delivered twice".
 *
 * Missing: lf_persist(&r->head, ...) in get(). The worst case is worse: put() sees the slot free and overwrites it. If
 * that is durable and the old `head` is too, recovery finds the newest item where the oldest should be. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

enum { SLOTS = 4 };

struct slot {
  _Alignas(64) uint64_t item;
};

struct ring {
  _Alignas(64) uint64_t head;
  _Alignas(64) uint64_t tail;
  struct slot slot[SLOTS];
};

static int put(struct ring *r, uint64_t item) {
  if (r->tail - r->head == SLOTS)
    return 0;
  uint64_t *slot = &r->slot[r->tail % SLOTS].item;
  *slot = item;  //~ kept
  lf_persist(slot, sizeof *slot);
  __atomic_store_n(&r->tail, r->tail + 1, __ATOMIC_RELEASE);  //~ counted
  lf_persist(&r->tail, sizeof r->tail);
  return 1;
}

static int get(struct ring *r, uint64_t *item) {
  if (r->tail == r->head)
    return 0;
  *item = r->slot[r->head % SLOTS].item;
  __atomic_store_n(&r->head, r->head + 1, __ATOMIC_RELEASE);  //~ lost
  return 1;
}

static int intact(const struct ring *r) {
  for (uint64_t i = r->head; i < r->tail; i++)
    if (r->slot[i % SLOTS].item != i + 1)
      return 0;
  return r->tail - r->head <= SLOTS;
}

int main(void) {
  struct ring *r = lf_pm(sizeof *r);
  assert(intact(r));  //~ fails
  uint64_t item;
  while (put(r, r->tail + 1)) /* fill it */
    ;
  get(r, &item);
  assert(item == r->head);
  put(r, r->tail + 1); /* into the slot that has just become free */
  assert(intact(r));
  return 0;
}
