/* BROKEN: put() makes `tail` durable, the item never.
 *
 * Missing: lf_persist(slot, ...) before `tail` moves. The slots have lines of their own; recovery can find a queue that
 * claims an item whose slot is still empty. */
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
  *slot = item;  //~ lost
  __atomic_store_n(&r->tail, r->tail + 1, __ATOMIC_RELEASE);  //~ kept
  lf_persist(&r->tail, sizeof r->tail);
  return 1;
}

static int get(struct ring *r, uint64_t *item) {
  if (r->tail == r->head)
    return 0;
  *item = r->slot[r->head % SLOTS].item;
  __atomic_store_n(&r->head, r->head + 1, __ATOMIC_RELEASE);  //~ taken
  lf_persist(&r->head, sizeof r->head);
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
