/* run: --heap */
#include <cstdint>
struct pair { std::uint32_t a, b, c; };
int main() {
  pair *one = new pair{1, 2, 3};
  return (int)*reinterpret_cast<volatile std::uint64_t *>(&one->c);
}
