/* run: --heap */
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>
// Everything here is allowed: nothing may be reported.
int main() {
  for (int i = 0; i < 200; i++) {
    char *bytes = (char *)std::malloc(i);
    std::memset(bytes, i, i);
    bytes = (char *)std::realloc(bytes, i + 5);
    bytes[i + 4] = 1;
    std::free(bytes);
    char *aligned = (char *)std::aligned_alloc(64, 128);
    aligned[127] = 1;
    std::free(aligned);
    char *copy = strdup("copied");
    std::free(copy);
  }
  std::map<std::string, std::vector<int>> map;
  for (int i = 0; i < 50; i++)
    map[std::to_string(i % 7) + " with a name that is long"].push_back(i);
  std::size_t count = 0;
  for (auto &[name, numbers] : map)
    count += numbers.size() + name.size();
  void *zero = std::calloc(3, 5);
  std::free(zero);
  std::free(nullptr);
  return count == 0;
}
