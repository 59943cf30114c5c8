extern "C" {
#include "pool.h"
}
#include <vector>

int more() { return static_cast<int>(std::vector<int>{1, 2}.size()); }
