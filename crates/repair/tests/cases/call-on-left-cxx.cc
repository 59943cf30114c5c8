// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

node *find(uint64_t key);
void f(uint64_t key) {
  find(key)->value /*@*/= key;
}
