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

// The members of std::atomic are one access each: inlined, it carries the line that asked for it.
struct InlineAtomicsPass : PassInfoMixin<InlineAtomicsPass> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    for (Function &function : module)
      if (!function.isDeclaration() && function.hasLinkOnceLinkage() && is_atomic(function.getName())) {
        function.removeFnAttr(Attribute::NoInline);
        function.removeFnAttr(Attribute::OptimizeNone);
        function.addFnAttr(Attribute::AlwaysInline);
      }
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

  static bool is_atomic(StringRef name) {
    if (!name.starts_with("_ZN") && !name.starts_with("_ZSt"))
      return false;
    for (const char *part : {"6atomicI", "10atomic_refI", "11atomic_flag", "13__atomic_base", "13__atomic_impl",
                             "14__atomic_float", "12__atomic_ref", "__cxx_atomic_", "atomic_thread_fence",
                             "12atomic_store", "11atomic_load"})
      if (name.contains(part))
        return true;
    return false;
  }
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
    passes.addPass(InlineAtomicsPass());
    passes.addPass(AlwaysInlinerPass());
    passes.addPass(createModuleToFunctionPassAdaptor(PromotePass()));
    passes.addPass(InstrumentPass());
  });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo landfall_plugin_info() {
  return {LLVM_PLUGIN_API_VERSION, "landfall", "0.1.0", register_callbacks};
}
