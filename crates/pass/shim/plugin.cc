// Registers the pass with clang. Everything that decides what to instrument is in Rust (src/).
#include <cstdlib>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

using namespace llvm;

extern "C" bool landfall_instrument_module(LLVMModuleRef module);

namespace {

struct InstrumentPass : PassInfoMixin<InstrumentPass> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    return landfall_instrument_module(wrap(&module)) ? PreservedAnalyses::none()
                                                     : PreservedAnalyses::all();
  }
  // Also at -O0 and in functions marked optnone.
  static bool isRequired() { return true; }
};

// "As compiled" watches the accesses the optimiser left; the default watches those the source wrote.
bool as_compiled() {
  const char *mode = std::getenv("LANDFALL_AS_COMPILED");
  return mode && *mode && *mode != '0';
}

void register_callbacks(PassBuilder &builder) {
  if (as_compiled()) {
    builder.registerOptimizerLastEPCallback(
        [](ModulePassManager &passes, OptimizationLevel) { passes.addPass(InstrumentPass()); });
    return;
  }
  builder.registerPipelineStartEPCallback([](ModulePassManager &passes, OptimizationLevel) {
    // Intrinsics such as _mm_clwb are always-inline functions of a header: inlined first, they
    // carry the position of their caller. Promoted locals are no memory accesses at all.
    passes.addPass(AlwaysInlinerPass());
    passes.addPass(createModuleToFunctionPassAdaptor(PromotePass()));
    passes.addPass(InstrumentPass());
  });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo landfall_plugin_info() {
  return {LLVM_PLUGIN_API_VERSION, "landfall", "0.1.0", register_callbacks};
}
