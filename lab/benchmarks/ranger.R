# Measures a ranger forest. Arguments: folder trees mtry threads seed repeats latency_calls.
# The folder contains X_train, X_many and X_test (float32, row-major), y_train and y_test (int32), and
# n_features.
# Prints one line of JSON.
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
settings <- as.integer(arguments[-1])
names(settings) <- c("trees", "mtry", "threads", "seed", "repeats", "latency_calls")
suppressMessages(library(ranger))

n_features <- scan(file.path(folder, "n_features"), quiet = TRUE)
read_matrix <- function(name) {
  path <- file.path(folder, name)
  values <- readBin(path, "numeric", n = file.size(path) / 4, size = 4)
  X <- matrix(values, ncol = n_features, byrow = TRUE)
  colnames(X) <- paste0("x", seq_len(n_features))
  X
}
read_labels <- function(name) {
  path <- file.path(folder, name)
  readBin(path, "integer", n = file.size(path) / 4, size = 4)
}
# In bytes; NA without /proc.
memory <- function(field) {
  if (!file.exists("/proc/self/status")) return(NA)
  line <- grep(field, readLines("/proc/self/status"), value = TRUE)
  1024 * as.numeric(gsub("[^0-9]", "", line))
}
cpu <- function() sum(proc.time()[c("user.self", "sys.self")])
wall <- function() proc.time()[["elapsed"]]
time_of <- function(expression) {
  start <- as.numeric(Sys.time())
  force(expression)
  as.numeric(Sys.time()) - start
}

X <- read_matrix("X_train")
y <- factor(read_labels("y_train"))
X_many <- read_matrix("X_many")
X_test <- read_matrix("X_test")
y_test <- read_labels("y_test")
invisible(gc())
try(cat("5", file = "/proc/self/clear_refs"), silent = TRUE) # reset the peak

before <- memory("VmRSS")
start_wall <- wall()
start_cpu <- cpu()
forest <- ranger(
  x = X, y = y, num.trees = settings[["trees"]], mtry = settings[["mtry"]],
  min.node.size = 1, probability = TRUE, replace = TRUE, oob.error = FALSE,
  num.threads = settings[["threads"]], seed = settings[["seed"]] + 1, verbose = FALSE
)
fit_wall <- wall() - start_wall
fit_cpu <- cpu() - start_cpu
peak <- memory("VmHWM")

predicted <- function(X, threads) predict(forest, X, num.threads = threads, verbose = FALSE)$predictions
invisible(predicted(X_many, settings[["threads"]]))
predict_many <- median(replicate(
  settings[["repeats"]], time_of(predicted(X_many, settings[["threads"]]))
))
latency <- function(threads) median(sapply(
  seq_len(settings[["latency_calls"]]),
  function(i) time_of(predicted(X_many[i, , drop = FALSE], threads))
))
p <- predicted(X_test, settings[["threads"]])
p <- p[, order(as.integer(colnames(p)))]
accuracy <- mean(sort(unique(as.integer(levels(y))))[max.col(p, ties.method = "first")] == y_test)
nodes <- sum(sapply(forest$forest$child.nodeIDs, function(tree) length(tree[[1]])))
size <- length(serialize(forest, NULL))

number <- function(value) if (is.na(value)) "null" else format(value, digits = 12, scientific = FALSE)
values <- c(
  fit_wall = fit_wall, fit_cpu = fit_cpu, predict_many = predict_many,
  predict_one = latency(settings[["threads"]]), predict_one_alone = latency(1),
  accuracy = accuracy, nodes = nodes, memory_before = before, memory_peak = peak, size = size
)
cat("{", paste0('"', names(values), '": ', sapply(values, number), collapse = ", "), "}\n", sep = "")
