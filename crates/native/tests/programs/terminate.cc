#include <stdexcept>
int main() { throw std::runtime_error("nobody catches this"); }
