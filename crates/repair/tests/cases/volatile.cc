// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

struct State { volatile uint64_t flag; };
void f(State *s) {
  s->flag /*@*/= 1;
}
