package countersign;

import ca.uhn.fhir.batch2.jobs.config.Batch2JobsConfig;
import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.interceptor.api.Hook;
import ca.uhn.fhir.interceptor.api.Pointcut;
import ca.uhn.fhir.jpa.api.IDaoRegistry;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.api.config.ThreadPoolFactoryConfig;
import ca.uhn.fhir.jpa.api.dao.IFhirSystemDao;
import ca.uhn.fhir.jpa.batch2.JpaBatch2Config;
import ca.uhn.fhir.jpa.config.r4.JpaR4Config;
import ca.uhn.fhir.jpa.config.util.HapiEntityManagerFactoryUtil;
import ca.uhn.fhir.jpa.config.util.ResourceCountCacheUtil;
import ca.uhn.fhir.jpa.dao.FulltextSearchSvcImpl;
import ca.uhn.fhir.jpa.dao.IFulltextSearchSvc;
import ca.uhn.fhir.jpa.dao.search.HSearchSortHelperImpl;
import ca.uhn.fhir.jpa.dao.search.IHSearchSortHelper;
import ca.uhn.fhir.jpa.model.config.PartitionSettings;
import ca.uhn.fhir.jpa.model.config.SubscriptionSettings;
import ca.uhn.fhir.jpa.model.dialect.HapiFhirH2Dialect;
import ca.uhn.fhir.jpa.model.dialect.HapiFhirPostgresDialect;
import ca.uhn.fhir.jpa.provider.DaoRegistryResourceSupportedSvc;
import ca.uhn.fhir.jpa.provider.JpaSystemProvider;
import ca.uhn.fhir.jpa.search.DatabaseBackedPagingProvider;
import ca.uhn.fhir.jpa.search.IStaleSearchDeletingSvc;
import ca.uhn.fhir.jpa.search.StaleSearchDeletingSvcImpl;
import ca.uhn.fhir.jpa.subscription.channel.config.SubscriptionChannelConfig;
import ca.uhn.fhir.jpa.subscription.submit.config.SubscriptionSubmitterConfig;
import ca.uhn.fhir.jpa.util.ResourceCountCache;
import ca.uhn.fhir.rest.api.IResourceSupportedSvc;
import ca.uhn.fhir.rest.api.server.RequestDetails;
import ca.uhn.fhir.rest.server.RestfulServer;
import ca.uhn.fhir.rest.server.provider.ResourceProviderFactory;
import ca.uhn.fhir.rest.server.util.ISearchParamRegistry;
import jakarta.persistence.EntityManagerFactory;
import java.util.Properties;
import javax.sql.DataSource;
import org.hl7.fhir.instance.model.api.IBaseResource;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.data.elasticsearch.ElasticsearchDataAutoConfiguration;
import org.springframework.boot.autoconfigure.elasticsearch.ElasticsearchRestClientAutoConfiguration;
import org.springframework.boot.autoconfigure.flyway.FlywayAutoConfiguration;
import org.springframework.boot.autoconfigure.hateoas.HypermediaAutoConfiguration;
import org.springframework.boot.autoconfigure.orm.jpa.HibernateJpaAutoConfiguration;
import org.springframework.boot.autoconfigure.quartz.QuartzAutoConfiguration;
import org.springframework.boot.autoconfigure.thymeleaf.ThymeleafAutoConfiguration;
import org.springframework.boot.web.context.WebServerInitializedEvent;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.ApplicationListener;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;

/**
 * A FHIR R4 server on HAPI FHIR JPA, as its libraries come, below /fhir. It stores where `spring.datasource.url` says (H2 or
 * PostgreSQL), listens where `server.address` and `server.port` say, and prints `listening PORT`.
 *
 * <p>A request with the headers `x-hold-type` and `x-hold-ms` holds the transaction of a new resource of that type open for so
 * long before its commit, and prints `holding`: what a slow database does, at a known moment.
 */
@Configuration
@EnableAutoConfiguration(
    exclude = {
      ElasticsearchDataAutoConfiguration.class,
      ElasticsearchRestClientAutoConfiguration.class,
      FlywayAutoConfiguration.class,
      HibernateJpaAutoConfiguration.class,
      HypermediaAutoConfiguration.class,
      QuartzAutoConfiguration.class,
      ThymeleafAutoConfiguration.class
    })
@Import({
  JpaR4Config.class,
  ThreadPoolFactoryConfig.class,
  JpaBatch2Config.class,
  Batch2JobsConfig.class,
  SubscriptionSubmitterConfig.class,
  SubscriptionChannelConfig.class
})
public class HapiServer {
  public static void main(String[] arguments) {
    SpringApplication.run(HapiServer.class, arguments);
  }

  @Bean
  FhirContext fhirContext() {
    return FhirContext.forR4();
  }

  @Bean
  JpaStorageSettings storageSettings() {
    return new JpaStorageSettings();
  }

  @Bean
  PartitionSettings partitionSettings() {
    return new PartitionSettings();
  }

  @Bean
  SubscriptionSettings subscriptionSettings() {
    return new SubscriptionSettings();
  }

  @Bean
  LocalContainerEntityManagerFactoryBean entityManagerFactory(
      DataSource database, ConfigurableListableBeanFactory beans, FhirContext context, JpaStorageSettings settings)
      throws Exception {
    boolean postgres;
    try (var connection = database.getConnection()) {
      postgres = connection.getMetaData().getDatabaseProductName().equals("PostgreSQL");
    }
    Properties hibernate = new Properties();
    Class<?> dialect = postgres ? HapiFhirPostgresDialect.class : HapiFhirH2Dialect.class;
    hibernate.put("hibernate.dialect", dialect.getName());
    hibernate.put("hibernate.hbm2ddl.auto", "update");
    hibernate.put("hibernate.search.enabled", "false");
    var factory = HapiEntityManagerFactoryUtil.newEntityManagerFactory(beans, context, settings);
    factory.setPersistenceUnitName("hapi");
    factory.setDataSource(database);
    factory.setJpaProperties(hibernate);
    return factory;
  }

  @Bean
  @Primary
  JpaTransactionManager transactionManager(EntityManagerFactory factory) {
    return new JpaTransactionManager(factory);
  }

  @Bean
  IResourceSupportedSvc resourceSupportedSvc(IDaoRegistry daos) {
    return new DaoRegistryResourceSupportedSvc(daos);
  }

  @Bean
  IFulltextSearchSvc fulltextSearchSvc() {
    return new FulltextSearchSvcImpl();
  }

  @Bean
  IHSearchSortHelper sortHelper(ISearchParamRegistry parameters) {
    return new HSearchSortHelperImpl(parameters);
  }

  @Bean
  IStaleSearchDeletingSvc staleSearchDeletingSvc() {
    return new StaleSearchDeletingSvcImpl();
  }

  @Bean
  ResourceCountCache resourceCountsCache(IFhirSystemDao<?, ?> dao) {
    return ResourceCountCacheUtil.newResourceCountCache(dao);
  }

  @Bean
  DatabaseBackedPagingProvider pagingProvider() {
    return new DatabaseBackedPagingProvider();
  }

  @Bean
  ServletRegistrationBean<RestfulServer> fhirServlet(
      FhirContext context,
      ResourceProviderFactory resources,
      JpaSystemProvider<?, ?> system,
      DatabaseBackedPagingProvider pages) {
    RestfulServer server = new RestfulServer(context);
    server.registerProviders(resources.createProviders());
    server.registerProvider(system);
    server.setPagingProvider(pages);
    server.registerInterceptor(new Hold());
    return new ServletRegistrationBean<>(server, "/fhir/*");
  }

  @Bean
  ApplicationListener<WebServerInitializedEvent> announce() {
    return event -> System.out.println("listening " + event.getWebServer().getPort());
  }

  /** Must be public for HAPI to call it. */
  public static class Hold {
    @Hook(Pointcut.STORAGE_PRECOMMIT_RESOURCE_CREATED)
    public void hold(IBaseResource resource, RequestDetails request) throws InterruptedException {
      String type = request == null ? null : request.getHeader("x-hold-type");
      if (type == null || !type.equals(resource.fhirType())) return;
      System.out.println("holding");
      Thread.sleep(Long.parseLong(request.getHeader("x-hold-ms")));
    }
  }
}
