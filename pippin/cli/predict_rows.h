// Predictions for the rows of a file.
#pragma once

#include <optional>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/cli/options/named_arrays.h"
#include "pippin/cli/output_files.h"

namespace pippin::cli {

// Removes the file of rows from the arguments of --input; nothing if there is none. Throws
// InvalidArgument if there are several.
std::optional<InputFile> take_rows_file(std::vector<InputFile>& files);

// Runs the function for every row, completed by `common` values, with a new state for each. Throws
// the errors of Function::predict(), naming the row, and InvalidArgument if a row has a value of
// `common`.
std::vector<Values> predict_rows(const Function& function, const std::vector<Values>& rows,
                                 const Values& common);

// Throws InvalidArgument for files that cannot hold rows. resolve_outputs() is not needed.
void check_rows_outputs(const std::vector<OutputFile>& files);
void write_rows(const std::vector<OutputFile>& files, const std::vector<FeatureInfo>& outputs,
                const std::vector<Values>& rows);

}  // namespace pippin::cli
