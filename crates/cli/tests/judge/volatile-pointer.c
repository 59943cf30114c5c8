// flags: --checks crash
// expect: volatile-pointer at follow
// expect: volatile-pointer at call
// says: a pointer of a run that is over, to its volatile heap
// says: to its code or variables
/* Both are where the first run had them, and nothing fails: another system would have put them elsewhere. What is only compared is no matter. */
#include <landfall.h>
#include <stdlib.h>

struct store {
  _Atomic(long *) cache, set_anew;
  _Atomic(void (*)(void)) action;
  _Atomic(void *) compared;
};

static long kept;
static void act(void) {}

int main(void) {
  struct store *store = lf_pm(sizeof *store);
  long *first = malloc(64); /* one block is there in every run */
  *first = 1;
  if (!store->cache) { //~ follow
    store->compared = first;
    store->action = act;
    store->cache = first;
    lf_persist(store, sizeof *store);
  }
  long *cache = store->cache;
  void (*action)(void) = store->action; //~ call
  store->set_anew = first;
  *store->set_anew = store->compared == &kept;
  *cache = 2;
  action();
}
