/* queue: in queue_constructor, stores might persist out of order before flushed. */
#include "pmdk.h"

struct queue {
  uint64_t front;
  uint64_t back;
  LINE uint64_t capacity;
  uint64_t entries[4];
};

static void queue_constructor(struct queue *q, uint64_t capacity) {
  q->front = 1; //~ lost
  DURABLE(q->front);
  q->back = 1;
  DURABLE(q->back);
  q->capacity = capacity; //~ kept
  DURABLE(q->capacity);
  memset(q->entries, 0, sizeof q->entries);
  lf_persist(q, sizeof *q);
}

int main(void) {
  struct queue *q = lf_pm(sizeof *q);
  if (lf_failures() > 0) {
    SEE(q->front);
    SEE(q->back);
    SEE(q->capacity);
    return 0;
  }
  queue_constructor(q, 4);
  return 0;
}
