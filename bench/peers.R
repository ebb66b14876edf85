# Lines of bench/corners.py by packages of R, which PyPI and Debian do not have. NOT run where docs/performance.md was written: CRAN was out of reach there. The
# figures of these packages in bench/corners.py were measured earlier beside caucus (one machine, 2 vCPU, one thread, CPU seconds, single runs).
#
# Installed from CRAN, kernrank from its author's repository (1.1.0):
#   install.packages(c("PLMIX", "MSmix", "BayesMallows", "PerMallows", "PlackettLuce", "remotes"))
#   remotes::install_github("YunlongJiao/kernrank")
# Of BayesMallows 2.0 or later. Versions were not noted with the earlier figures; this prints them.
#
# Usage: Rscript bench/peers.R SUSHI.soc [SWEEPS]     SUSHI: PrefLib 00014-00000001.soc. CPU seconds (user + system) of one thread; a package that is missing is said.
words <- commandArgs(trailingOnly = TRUE)
if (length(words) < 1) stop("Usage: Rscript bench/peers.R SUSHI.soc [SWEEPS]")
sweeps <- if (length(words) > 1) as.integer(words[2]) else 500L
set.seed(1)

read_orders <- function(path) {
  lines <- grep("^#", readLines(path), value = TRUE, invert = TRUE)
  parts <- strsplit(lines, ":")
  orders <- do.call(rbind, lapply(parts, function(p) as.integer(strsplit(trimws(p[2]), ",")[[1]])))
  orders[rep(seq_len(nrow(orders)), as.integer(sapply(parts, `[`, 1))), ]
}
to_ranks <- function(orders) t(apply(orders, 1, order))

line <- function(package, what, run) {
  if (!requireNamespace(package, quietly = TRUE)) return(cat(sprintf("%s: not installed, left out: %s\n", package, what)))
  used <- system.time(answer <- try(run(), silent = TRUE))
  if (inherits(answer, "try-error")) return(cat(sprintf("%s: FAILED: %s: %s", package, what, answer)))
  cat(sprintf("%s %s | %s | %.3f s | %s\n", package, packageVersion(package), what, used[["user.self"]] + used[["sys.self"]],
              if (is.numeric(answer)) paste(format(answer, digits = 10), collapse = " ") else ""))
}

orders <- read_orders(words[1])
ranks <- to_ranks(orders)
n <- ncol(orders)

# K = 1 on Sushi: the log-likelihood is -71211.599 for both.
line("PLMIX", "Plackett-Luce K = 1, default", function() PLMIX::mapPLMIX(orders, K = n, G = 1)$log_lik |> max())
line("PLMIX", "Plackett-Luce K = 3, a start, eps 1e-10", function() PLMIX::mapPLMIX(orders, K = n, G = 3, eps = 1e-10, n_iter = 100000)$log_lik |> max())
line("PlackettLuce", "Plackett-Luce K = 1", function() as.numeric(logLik(PlackettLuce::PlackettLuce(ranks))))

# Mallows mixtures K = 3: a start of kernrank, five of MSmix (Spearman's distance).
line("kernrank", "Mallows mixture K = 3, a start", function() {
  trace <- kernrank::Mallows(ranks, G = 3, iter = 1000, tol = 1e-3, seed = NULL)$min.like
  tail(trace[trace != 0], 1)
})
line("MSmix", "Spearman Mallows mixture K = 3, five starts", function()
  max(as.numeric(unlist(MSmix::fitMSmix(ranks, n_clust = 3, n_start = 5)$mod$log_lik)), -Inf))

# Iterations per second with five clusters.
line("BayesMallows", sprintf("%d iterations, 5 clusters", sweeps), function() {
  BayesMallows::compute_mallows(BayesMallows::setup_rank_data(rankings = ranks),
                                model_options = BayesMallows::set_model_options(metric = "kendall", n_clusters = 5),
                                compute_options = BayesMallows::set_compute_options(nmc = sweeps, burnin = 1))
  NULL
})

# 10^5 Mallows orders in memory by the multistage sampler; the mean distance is that of the formula (its Gibbs sampler's is not).
for (items in c(20, 100))
  line("PerMallows", sprintf("sampling 10^5 Mallows orders, n = %d, multistage", items), function() {
    drawn <- PerMallows::rmm(100000, seq_len(items), 0.1, dist.name = "kendall", sampling.method = "multistage")
    mean(apply(drawn[1:1000, ], 1, function(x) sum(outer(seq_along(x), seq_along(x), "<") & outer(x, x, ">"))))
  })
