// durable
#include <landfall.h>
#include <array>
void f(std::array<long, 4> **all) {
  all[1]->/*@*/fill(7);
}
